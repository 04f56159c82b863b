#include "plan/search/relaxed.h"

#include "plan/search/recompute.h"

namespace lowtide::plan {

Choices relaxed(const Problem& problem, TaskId at, const Cut::Answer& answer) {
  core::IdVector<TensorId, char> dropped(problem.tensors.size(), 0);
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[TensorId(i)];
    const bool old = tensor.producer.valid() && tensor.producer < at;
    if (old && !tensor.lasting && problem.tasks[tensor.producer].repeatable) {
      dropped[TensorId(i)] = 1;
    }
  }
  for (const TensorId kept : answer.kept) dropped[kept] = 0;
  for (const Variant& variant : problem.tasks[at].variants) {
    for (const TensorId read : variant.reads) dropped[read] = 0;
  }
  return recompute_dropped(problem, dropped, TaskId(at.index() + 1));
}

}  // namespace lowtide::plan
