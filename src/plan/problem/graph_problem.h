// GraphProblem: the search's view of a graph, and the way back from its answers to sequences.
#pragma once

#include <vector>

#include "plan/model.h"
#include "plan/problem/problem.h"
#include "plan/problem/timeline.h"
#include "plan/sequence.h"

namespace lowtide::plan {

// Each tensor is a stretch of storage: a transient value with the views of it. Tasks are the needed
// nodes in the order of their first executions, a variant for each and for each of its
// alternatives. Nodes that only make views are none: they take no time and no bytes, and run right
// behind what they show. Nor are nodes that take no bytes of their own, such as updates and sums of
// squares: each follows the first execution of the task before it, as a part of that. They are half
// of a training step, and what could be gained by looking at each is to compute a gradient again
// for its update alone.
class GraphProblem {
 public:
  // The model must outlive it.
  explicit GraphProblem(const Model& model);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] NodeId node(TaskId task) const { return nodes_[task]; }
  // Whether the other has the same tasks with the same rules for running them again: then its
  // choices are choices here.
  [[nodiscard]] bool same_tasks(const GraphProblem& other) const;
  // The executions of a choice, with those of views.
  [[nodiscard]] Sequence sequence(const Choices& choices) const;

 private:
  [[nodiscard]] bool only_views(NodeId id) const;
  void add_tensors();
  void add_task(NodeId id);
  [[nodiscard]] std::vector<TensorId> written(NodeId id) const;
  [[nodiscard]] TaskId last_task() const { return TaskId(nodes_.size() - 1); }
  [[nodiscard]] bool may_follow(NodeId id) const;
  [[nodiscard]] bool last_leaves(TensorId read, bool may_read_more) const;
  void follow(NodeId id);
  [[nodiscard]] Variant variant(NodeId id) const;
  [[nodiscard]] std::vector<InPlace> in_place(NodeId id) const;
  void set_deadlines();
  void add_unread_inputs();
  void find_views();

  const Model& model_;
  Problem problem_;
  core::IdVector<TaskId, NodeId> nodes_;  // those that are no alternatives
  core::IdVector<TaskId, std::vector<NodeId>> followers_;
  core::IdVector<ValueId, TensorId> tensors_;  // by value; views' too. Invalid for persistent ones
  // By value: the nodes that make views of it, directly or not, in order.
  core::IdVector<ValueId, std::vector<NodeId>> views_;
};

}  // namespace lowtide::plan
