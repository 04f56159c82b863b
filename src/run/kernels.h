// Kernels: a bound kernel for every node of a graph, equal nodes sharing one.
#pragma once

#include <memory>
#include <vector>

#include "core/machine.h"
#include "graph/graph.h"

namespace lowtide::run {

// Immutable. Nodes of the same op, attributes and types use the same kernel object, so a network of
// repeated blocks holds few oneDNN primitives.
class Kernels {
 public:
  // Throws Error, with the node's name, where a kernel cannot be made.
  static Kernels bind(const graph::Graph& graph, const core::Machine& machine);

  [[nodiscard]] const graph::BoundKernel& of(graph::NodeId node) const {
    return *kernels_[by_node_[node]];
  }

  [[nodiscard]] std::size_t distinct() const { return kernels_.size(); }

 private:
  core::IdVector<graph::NodeId, std::size_t> by_node_;
  std::vector<std::unique_ptr<graph::BoundKernel>> kernels_;
};

}  // namespace lowtide::run
