#include "plan/baseline/baseline.h"

#include <algorithm>
#include <iterator>

#include "plan/problem/gauge.h"
#include "plan/search/recompute.h"

namespace lowtide::plan {

namespace {

bool is_cheap(Layer layer) {
  return layer == Layer::kNormalize || layer == Layer::kActivate || layer == Layer::kPool;
}

bool is_norm_or_activation(Layer layer) {
  return layer == Layer::kNormalize || layer == Layer::kActivate;
}

// The task behind the last one that may run again: the backward pass begins there or before.
TaskId end_of_forward(const Problem& problem) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    if (problem.tasks[TaskId(i)].repeatable) end = i + 1;
  }
  return TaskId(end);
}

using Dropped = core::IdVector<TensorId, char>;

template <class F>
Dropped outputs_of(const Problem& problem, F&& which) {
  Dropped dropped(problem.tensors.size(), 0);
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    if (!problem.tasks[TaskId(i)].repeatable || !which(TaskId(i))) continue;
    for (const TensorId id : problem.tasks[TaskId(i)].variants.front().writes) {
      if (!problem.tensors[id].lasting) dropped[id] = 1;
    }
  }
  return dropped;
}

// Runs again, before `stage`, what of the dropped its reads need, and what that needs in turn.
// `wanted` says of which tensors there is no copy to use.
template <class F>
void bring_back(Timeline& line, TaskId stage, F&& wanted) {
  std::vector<TaskId> todo = {stage};
  while (!todo.empty()) {
    const TaskId reader = todo.back();
    todo.pop_back();
    for (const TensorId read : line.chosen(reader).reads) {
      if (!wanted(read)) continue;
      const Repetition what{stage, line.problem().tensors[read].producer};
      if (!line.allowed(what) || line.contains(what)) continue;
      line.add(what);
      todo.push_back(what.task);
    }
  }
}

}  // namespace

bool is_baseline(Policy policy) {
  switch (policy) {
    case Policy::kLowtide:
    case Policy::kKeep:
    case Policy::kChen: return false;
    case Policy::kNoBn:
    case Policy::kResidual1:
    case Policy::kResidual2:
    case Policy::kSuperNeurons:
    case Policy::kDtr: return true;
  }
  return false;
}

Choices without_norms(const Problem& problem, const TaskLayers& layers) {
  const Dropped dropped =
      outputs_of(problem, [&](TaskId task) { return is_norm_or_activation(layers[task]); });
  return recompute_dropped(problem, dropped, end_of_forward(problem));
}

Choices residual_checkpoints(const Problem& problem, const TaskLayers& layers, int blocks) {
  const TaskId end = end_of_forward(problem);
  core::IdVector<TaskId, char> checkpoint(problem.tasks.size(), 0);
  int joins = 0;
  for (std::size_t i = 0; i < end.index(); ++i) {
    if (layers[TaskId(i)] == Layer::kJoin && ++joins % blocks == 0) checkpoint[TaskId(i)] = 1;
  }
  if (joins == 0) return fastest_choices(problem);
  const Dropped dropped = outputs_of(problem, [&](TaskId task) { return checkpoint[task] == 0; });
  Timeline line(problem, recompute_dropped(problem, dropped, end));
  // Of what was brought back, norms and activations go once their segment has run, and come again.
  const Dropped light = outputs_of(problem, [&](TaskId task) {
    return checkpoint[task] == 0 && is_norm_or_activation(layers[task]);
  });
  for (std::size_t i = end.index(); i < problem.tasks.size(); ++i) {
    bring_back(line, TaskId(i), [&](TensorId read) { return light[read] != 0; });
  }
  return line.choices();
}

namespace {

// The cheap layers between checkpoints, as sets of tasks that feed each other.
class Segments {
 public:
  Segments(const Problem& problem, const Dropped& dropped)
      : problem_(problem), segment_(problem.tasks.size(), kNone) {
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      const Variant& variant = problem.tasks[TaskId(i)].variants.front();
      std::int64_t bytes = 0;
      bool any = false;
      for (const TensorId id : variant.writes) {
        any = any || dropped[id] != 0;
        bytes += dropped[id] != 0 ? problem.tensors[id].bytes : 0;
      }
      if (!any) continue;
      std::size_t mine = kNone;
      for (const TensorId id : variant.reads) {
        if (dropped[id] != 0) mine = of(id);
      }
      if (mine == kNone) {
        mine = bytes_.size();
        bytes_.push_back(0);
        tasks_.emplace_back();
      }
      segment_[TaskId(i)] = mine;
      bytes_[mine] += bytes;
      tasks_[mine].emplace_back(i);
    }
  }

  [[nodiscard]] std::size_t of(TensorId dropped) const {
    return segment_[problem_.tensors[dropped].producer];
  }
  [[nodiscard]] std::int64_t bytes(std::size_t segment) const { return bytes_[segment]; }
  [[nodiscard]] const std::vector<TaskId>& tasks(std::size_t segment) const {
    return tasks_[segment];
  }
  [[nodiscard]] std::size_t count() const { return bytes_.size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  const Problem& problem_;
  core::IdVector<TaskId, std::size_t> segment_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::vector<TaskId>> tasks_;
};

std::int64_t hungriest_backward_step(const Problem& problem, TaskId end) {
  std::int64_t most = 0;
  for (std::size_t i = end.index(); i < problem.tasks.size(); ++i) {
    const Variant& variant = problem.tasks[TaskId(i)].variants.front();
    std::int64_t bytes = 0;
    for (const TensorId id : variant.reads) bytes += problem.tensors[id].bytes;
    for (const TensorId id : variant.writes) bytes += problem.tensors[id].bytes;
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

Choices super_neurons(const Problem& problem, const TaskLayers& layers) {
  const TaskId end = end_of_forward(problem);
  const Dropped dropped = outputs_of(problem, [&](TaskId task) { return is_cheap(layers[task]); });
  const Segments segments(problem, dropped);
  const std::int64_t most = hungriest_backward_step(problem, end);
  Timeline line(problem);
  std::vector<char> back(segments.count(), 0);
  for (std::size_t i = end.index(); i < problem.tasks.size(); ++i) {
    const TaskId stage(i);
    for (const TensorId read : line.chosen(stage).reads) {
      if (dropped[read] == 0 || back[segments.of(read)] != 0) continue;
      const std::size_t segment = segments.of(read);
      if (segments.bytes(segment) > most) continue;
      back[segment] = 1;
      for (const TaskId task : segments.tasks(segment)) {
        const Repetition what{stage, task};
        if (line.allowed(what) && !line.contains(what)) line.add(what);
      }
    }
    bring_back(line, stage,
               [&](TensorId read) { return dropped[read] != 0 && back[segments.of(read)] == 0; });
  }
  return line.choices();
}

std::vector<Choices> baseline(const Problem& problem, const TaskLayers& layers, Policy policy) {
  if (problem.tasks.empty()) return {{}};
  switch (policy) {
    case Policy::kNoBn: return {without_norms(problem, layers)};
    case Policy::kResidual1: return {residual_checkpoints(problem, layers, 1)};
    case Policy::kResidual2: return {residual_checkpoints(problem, layers, 2)};
    case Policy::kSuperNeurons: return {super_neurons(problem, layers)};
    case Policy::kLowtide:
    case Policy::kKeep:
    case Policy::kChen:
    case Policy::kDtr: break;
  }
  // Down from what keeping takes, a few percent at a time, until nothing fits.
  constexpr double kRatio = 0.97;
  constexpr int kMostLevels = 90;
  constexpr std::int64_t kWork = 4'000'000'000;  // of the simulation, about tasks^2 a level
  const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
  const auto levels = std::clamp<std::int64_t>(kWork / (tasks * tasks), 12, kMostLevels);
  std::vector<Choices> result = {fastest_choices(problem)};
  auto limit = static_cast<double>(Gauge(problem).peak(result.front()));
  const double ratio = levels == kMostLevels ? kRatio : 1 - 0.97 / static_cast<double>(levels);
  for (std::int64_t i = 0; i < levels; ++i) {
    limit *= ratio;
    std::vector<Choices> found = dtr(problem, static_cast<std::int64_t>(limit));
    if (found.empty()) break;
    std::move(found.begin(), found.end(), std::back_inserter(result));
  }
  return result;
}

}  // namespace lowtide::plan
