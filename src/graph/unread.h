// Dropping what nothing needs.
#pragma once

#include <cstddef>
#include <span>

#include "graph/graph.h"

namespace lowtide::graph {

// Drops every node, of those at or after `first`, on which neither an output of the graph, nor a
// new version of a state value, nor one of `results` depends (invalid ids are passed over).
void drop_unread(Graph& graph, std::size_t first = 0, std::span<const ValueId> results = {});

}  // namespace lowtide::graph
