#include "plan/spill/relief.h"

#include <algorithm>
#include <vector>

namespace lowtide::plan {

namespace {

// A tensor's longest time between two uses, in seconds from the first task on.
struct Idle {
  double from = 0;
  double to = 0;
};

// Every task once, in its fastest variant.
class Line {
 public:
  explicit Line(const Problem& problem) : idle_(problem.tensors.size()) {
    core::IdVector<TensorId, double> used(problem.tensors.size(), 0);
    for (const Task& task : problem.tasks) {
      const Variant& variant = task.variants[fastest_variant(task)];
      for (const TensorId id : variant.reads) {
        Idle& idle = idle_[id];
        if (seconds_ - used[id] > idle.to - idle.from) idle = {used[id], seconds_};
      }
      seconds_ += variant.seconds;
      for (const std::vector<TensorId>* ids : {&variant.reads, &variant.writes}) {
        for (const TensorId id : *ids) used[id] = seconds_;
      }
    }
  }

  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] const Idle& idle(TensorId id) const { return idle_[id]; }

 private:
  double seconds_ = 0;
  core::IdVector<TensorId, Idle> idle_;
};

// Of those that may leave, the dearest to compute again first.
std::vector<TensorId> by_worth(const Problem& problem, const Line& line, const SpillTier& tier) {
  std::vector<TensorId> result;
  core::IdVector<TensorId, double> worth(problem.tensors.size(), 0);
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const TensorId id(i);
    const Tensor& tensor = problem.tensors[id];
    if (tensor.lasting || tensor.bytes < std::max<std::int64_t>(tier.smallest.count(), 1)) continue;
    const auto bytes = static_cast<double>(tensor.bytes);
    const Idle& idle = line.idle(id);
    const double both_ways = bytes / tier.rates.store + bytes / tier.rates.fetch;
    if (idle.to - idle.from < both_ways) continue;
    // What has no producer or a single execution cannot be computed again at all.
    const bool repeatable = tensor.producer.valid() && problem.tasks[tensor.producer].repeatable;
    worth[id] = repeatable ? problem.tasks[tensor.producer].variants.front().seconds_again / bytes
                           : line.seconds();
    result.push_back(id);
  }
  std::stable_sort(result.begin(), result.end(),
                   [&](TensorId a, TensorId b) { return worth[a] > worth[b]; });
  return result;
}

// Takes the tensors in turn as long as the queues have time for them: each direction from the
// first moment that one of them needs it to the last.
core::IdVector<TensorId, char> chosen(const Problem& problem, const SpillTier& tier, double share) {
  const Line line(problem);
  core::IdVector<TensorId, char> result(problem.tensors.size(), 0);
  double latest_store = 0;
  double earliest_fetch = line.seconds();
  const std::vector<TensorId> order = by_worth(problem, line, tier);
  for (const TensorId id : order) {
    latest_store = std::max(latest_store, line.idle(id).from);
    earliest_fetch = std::min(earliest_fetch, line.idle(id).to);
  }
  const double room = share * std::min(latest_store * tier.rates.store,
                                       (line.seconds() - earliest_fetch) * tier.rates.fetch);
  double moved = 0;
  for (const TensorId id : order) {
    const auto bytes = static_cast<double>(problem.tensors[id].bytes);
    if (moved + bytes > room) continue;
    moved += bytes;
    result[id] = 1;
  }
  return result;
}

}  // namespace

Problem relieved(const Problem& problem, const SpillTier& tier, double share) {
  const core::IdVector<TensorId, char> away = chosen(problem, tier, share);
  Problem result = problem;
  for (Task& task : result.tasks) {
    for (Variant& variant : task.variants) {
      for (const std::vector<TensorId>* ids : {&variant.reads, &variant.writes}) {
        for (const TensorId id : *ids) {
          if (away[id] != 0) variant.workspace += problem.tensors[id].bytes;
        }
      }
      std::erase_if(variant.in_place, [&](const InPlace& pair) {
        return away[pair.output] != 0 || away[pair.input] != 0;
      });
    }
  }
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    if (away[TensorId(i)] != 0) result.tensors[TensorId(i)].bytes = 0;
  }
  return result;
}

}  // namespace lowtide::plan
