// What depends on what.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace lowtide::passes {

// As graph::readers gives them.
using Readers = core::IdVector<graph::ValueId, std::vector<graph::NodeId>>;

// Whether just `count` nodes read the value, and it is no output of the graph.
bool read_only_by(const graph::Graph& graph,
                  const Readers& readers,
                  graph::ValueId id,
                  std::size_t count = 1);

// Whether the value is state (a parameter, a statistic) or computed from any.
bool depends_on_state(const graph::Graph& graph, graph::ValueId id);

}  // namespace lowtide::passes
