// What depends on what.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Whether the value is state (a parameter, a statistic) or computed from any.
bool depends_on_state(const graph::Graph& graph, graph::ValueId id);

// Drops every node that neither an output of the graph nor a state value depends on.
void drop_unread(graph::Graph& graph);

}  // namespace lowtide::passes
