#include "plan/search/recompute.h"

#include <vector>

namespace lowtide::plan {

Choices recompute_dropped(const Problem& problem,
                          const core::IdVector<TensorId, char>& dropped,
                          TaskId from) {
  Timeline line(problem);
  core::IdVector<TensorId, char> absent = dropped;
  std::vector<TaskId> todo;
  const auto want = [&](TaskId reader) {
    for (const TensorId read : line.chosen(reader).reads) {
      if (absent[read] != 0) todo.push_back(problem.tensors[read].producer);
    }
  };
  for (std::size_t i = from.index(); i < problem.tasks.size(); ++i) {
    want(TaskId(i));
    while (!todo.empty()) {
      const Repetition what{TaskId(i), todo.back()};
      todo.pop_back();
      if (!line.allowed(what) || line.contains(what)) continue;
      line.add(what);
      for (const TensorId write : line.chosen(what.task).writes) absent[write] = 0;
      want(what.task);
    }
  }
  return line.choices();
}

}  // namespace lowtide::plan
