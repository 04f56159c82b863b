// What graph tests ask of a graph's nodes.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace lowtide::support {

// How many nodes of the op there are.
inline std::int64_t count(const graph::Graph& graph, const graph::OpDef& op) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    if (graph.node(graph::NodeId(i)).op == &op) ++result;
  }
  return result;
}

}  // namespace lowtide::support
