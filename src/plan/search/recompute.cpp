#include "plan/search/recompute.h"

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
  const auto want = [&](TaskId reader) {
    for (const TensorId read : chosen(reader).reads) {
      if (absent[read] != 0) todo.push_back(problem.tensors[read].producer);
    }
  };
  for (std::size_t i = from.index(); i < problem.tasks.size(); ++i) {
    const TaskId stage(i);
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
