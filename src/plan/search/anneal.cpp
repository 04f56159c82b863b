#include "plan/search/anneal.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/random.h"
#include "plan/problem/editor.h"

namespace lowtide::plan {

namespace {

using Time = Timeline::Time;

class Annealer {
 public:
  Annealer(Timeline& line, const AnnealSettings& settings)
      : settings_(settings), random_(settings.seed, 0), line_(line), editor_(line_) {
    const Problem& problem = line.problem();
    double seconds = 0;
    double bytes = 0;
    std::size_t repeatable = 0;
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const Tensor& tensor = problem.tensors[TensorId(i)];
      if (tensor.lasting || !tensor.producer.valid() || tensor.bytes == 0) continue;
      if (!problem.tasks[tensor.producer].repeatable) continue;
      droppable_.emplace_back(i);
      bytes += static_cast<double>(tensor.bytes);
    }
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      const Task& task = problem.tasks[TaskId(i)];
      if (task.variants.size() > 1) choosable_.emplace_back(i);
      if (!task.repeatable) continue;
      seconds += task.variants[0].seconds_again;
      ++repeatable;
    }
    heat_ = settings.heat * seconds / static_cast<double>(std::max<std::size_t>(repeatable, 1));
    price_ = typical_price_ = bytes > 0 ? seconds / bytes : 0;
  }

  Candidate run() {
    excess_ = line_.excess(settings_.limit);
    now_ = value(excess_);
    note_best();
    const double cooling = std::pow(1e-3, 1.0 / static_cast<double>(settings_.moves));
    double heat = heat_;
    for (std::int64_t i = 0; i < settings_.moves; ++i, heat *= cooling) {
      if (i % kRound == 0) adapt();
      within_ += excess_ == 0 ? 1 : 0;
      if (!change()) continue;
      // Bytes too many only add to this: most of what is worse need not be looked at further.
      const double most = now_ - heat * std::log(random_.uniform() + 1e-300);
      if (line_.seconds() > most) {
        editor_.undo();
        continue;
      }
      if (value(line_.excess_up_to(settings_.limit, bytes_for(most - line_.seconds()))) > most) {
        editor_.undo();
        continue;
      }
      editor_.commit();
      excess_ = line_.excess(settings_.limit);
      now_ = value(excess_);
      note_best();
    }
    return best_;
  }

 private:
  static constexpr std::int64_t kRound = 64;

  [[nodiscard]] double value(std::int64_t excess) const {
    return line_.seconds() + price_ * static_cast<double>(excess);
  }

  // Bytes that may be too many at a price of that many seconds: no fewer.
  [[nodiscard]] std::int64_t bytes_for(double seconds) const {
    constexpr double kMost = 1e18;
    return 1 + static_cast<std::int64_t>(price_ * kMost > seconds ? seconds / price_ : kMost);
  }

  // Raises the price of bytes while the walk is too large, lowers it while it fits.
  void adapt() {
    constexpr double kFactor = 1.15;
    if (within_ == 0) price_ = std::min(price_ * kFactor, typical_price_ * 1e3);
    if (within_ > kRound / 4) price_ = std::max(price_ / kFactor, typical_price_ * 1e-3);
    within_ = 0;
    now_ = value(excess_);
  }

  void note_best() {
    if (excess_ > best_excess_) return;
    if (excess_ == best_excess_ && line_.seconds() >= best_.seconds - 1e-12) return;
    best_excess_ = excess_;
    best_ = line_.candidate();
  }

  bool change() {
    const std::size_t dice = below(16);
    const int moves = dice < 9 ? 1 : dice < 14 ? 2 : 3;
    for (int i = 0; i < moves; ++i) move();
    return editor_.changed();
  }

  void move() {
    const std::size_t dice = below(100);
    if (dice < (excess_ > 0 ? 50U : 25U)) return drop();
    if (dice < 70) return keep();
    if (dice < 85) return shift();
    if (!choosable_.empty()) return vary();
    keep();
  }

  // Uniform in [0, bound) but for a bias of bound / 2^32, without a division.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(random_.word()) * bound) >> 32U);
  }

  template <class T>
  const T& any(const std::vector<T>& of) {
    return of[below(of.size())];
  }

  // Computes a tensor again before a later read, so that it is not in memory at some step.
  void drop() {
    if (droppable_.empty()) return;
    const Time time = crowded_time();
    for (int attempt = 0; attempt < 16; ++attempt) {
      const TensorId tensor = any(droppable_);
      const std::optional<Timeline::Wait> wait = line_.wait(tensor, time);
      if (!wait) continue;
      if (below(3) == 0 && read_otherwise(tensor, wait->reader)) return;
      const Repetition what{line_.stage(wait->reader), line_.problem().tensors[tensor].producer};
      if (!line_.allowed(what) || line_.contains(what)) continue;
      static constexpr double kFollow[] = {0, 0.5, 0.9};
      const double chance = kFollow[below(3)];
      editor_.add_with_inputs(what, [&] { return chance > 0 && random_.uniform() < chance; });
      return;
    }
  }

  // Has the task at this time run in a variant that does not read the tensor, if there is one.
  bool read_otherwise(TensorId tensor, Time time) {
    if (line_.is_repetition(time)) return false;
    const TaskId id = line_.task_at(time);
    const std::vector<Variant>& variants = line_.problem().tasks[id].variants;
    const std::size_t from = below(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::size_t other = (from + i) % variants.size();
      if (reads(variants[other], tensor)) continue;
      editor_.choose(id, static_cast<std::uint8_t>(other));
      return true;
    }
    return false;
  }

  // Of a step that was beyond the limit before this move, or of any one if none was.
  Time crowded_time() { return line_.crowded(TaskId(below(line_.problem().tasks.size()))); }

  void keep() {
    if (!line_.repetitions().empty()) editor_.remove(any(line_.repetitions()));
  }

  // Moves a repetition, and often those of its stage that it is computed from, to another stage:
  // to a neighbour or to where one of its operands is used.
  void shift() {
    if (line_.repetitions().empty()) return;
    const Repetition what = any(line_.repetitions());
    const TaskId stage = below(2) == 0 ? nearby(what.stage) : where_used(what.task);
    if (!stage.valid() || stage == what.stage) return;
    chain_ = {what.task};
    if (below(4) != 0) find_chain(what.stage);
    for (const TaskId task : chain_) {
      const Repetition other{stage, task};
      if (line_.allowed(other) && !line_.contains(other)) editor_.add(other);
    }
    for (const TaskId task : chain_) {
      const Repetition old{what.stage, task};
      if (line_.contains(old)) editor_.remove(old);
    }
  }

  TaskId nearby(TaskId stage) {
    constexpr std::int64_t kReach = 6;
    const auto offset = static_cast<std::int64_t>(below(2 * kReach + 1)) - kReach;
    const std::int64_t moved = static_cast<std::int64_t>(stage.index()) + offset;
    const auto size = static_cast<std::int64_t>(line_.problem().tasks.size());
    return moved < 0 || moved >= size ? TaskId() : TaskId(static_cast<std::size_t>(moved));
  }

  TaskId where_used(TaskId task) {
    const Variant& variant = line_.chosen(task);
    const std::size_t chosen = below(variant.reads.size() + variant.writes.size());
    const TensorId tensor = chosen < variant.reads.size()
                                ? variant.reads[chosen]
                                : variant.writes[chosen - variant.reads.size()];
    const Timeline::Touch touch = any(line_.touches(tensor));
    return touch.time < 0 || touch.time == Timeline::kEnd ? TaskId() : line_.stage(touch.time);
  }

  // Adds to the chain what its members are computed from in this stage.
  void find_chain(TaskId stage) {
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      for (const TensorId read : line_.chosen(chain_[i]).reads) {
        const TaskId producer = line_.problem().tensors[read].producer;
        if (!producer.valid() || !line_.contains({stage, producer})) continue;
        if (std::find(chain_.begin(), chain_.end(), producer) != chain_.end()) continue;
        chain_.push_back(producer);
      }
    }
  }

  void vary() {
    const TaskId task = any(choosable_);
    const std::size_t count = line_.problem().tasks[task].variants.size();
    const std::size_t other = (line_.variant(task) + 1 + below(count - 1)) % count;
    editor_.choose(task, static_cast<std::uint8_t>(other));
  }

  const AnnealSettings& settings_;
  core::RandomStream random_;
  Timeline& line_;
  Editor editor_;
  std::vector<TensorId> droppable_;
  std::vector<TaskId> choosable_;
  std::vector<TaskId> chain_;
  double heat_ = 0;           // seconds
  double typical_price_ = 0;  // seconds a byte, as the next
  double price_ = 0;
  double now_ = 0;
  std::int64_t excess_ = 0;
  std::int64_t within_ = 0;  // moves of this round that met the limit
  std::int64_t best_excess_ = INT64_MAX;
  Candidate best_;
};

}  // namespace

Candidate anneal(Timeline& line, const AnnealSettings& settings) {
  return Annealer(line, settings).run();
}

}  // namespace lowtide::plan
