#include "plan/search/recompute.h"

#include <algorithm>
#include <vector>

namespace lowtide::plan {

Choices recompute_dropped(const Problem& problem,
                          const core::IdVector<TensorId, char>& dropped,
                          TaskId from) {
  Choices result = fastest_choices(problem);
  core::IdVector<TensorId, char> absent = dropped;
  core::IdVector<TaskId, TaskId> latest(problem.tasks.size());  // stage that each ran again in
  std::vector<TaskId> todo;
  const auto chosen = [&](TaskId task) -> const Variant& {
    return problem.tasks[task].variants[result.variants[task]];
  };
  // Rather than to compute again what a task reads, it runs in a variant that reads what is there.
  const auto reads_absent = [&](const Variant& variant) {
    return std::any_of(variant.reads.begin(), variant.reads.end(),
                       [&](TensorId read) { return absent[read] != 0; });
  };
  const auto choose = [&](TaskId task) {
    const std::vector<Variant>& variants = problem.tasks[task].variants;
    if (!reads_absent(chosen(task))) return;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (!reads_absent(variants[i])) {
        result.variants[task] = static_cast<std::uint8_t>(i);
        return;
      }
    }
  };
  const auto want = [&](TaskId reader) {
    for (const TensorId read : chosen(reader).reads) {
      if (absent[read] != 0) todo.push_back(problem.tensors[read].producer);
    }
  };
  for (std::size_t i = from.index(); i < problem.tasks.size(); ++i) {
    const TaskId stage(i);
    choose(stage);
    want(stage);
    while (!todo.empty()) {
      const TaskId task = todo.back();
      todo.pop_back();
      if (!allowed(problem, {stage, task}) || latest[task] == stage) continue;
      latest[task] = stage;
      result.repetitions.push_back({stage, task});
      for (const TensorId write : chosen(task).writes) absent[write] = 0;
      want(task);
    }
  }
  return result;
}

}  // namespace lowtide::plan
