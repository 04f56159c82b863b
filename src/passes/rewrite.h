// rewrite: a new graph from an old one, node by node, with some nodes replaced.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/builder.h"

namespace lowtide::passes {

struct Rewritten {
  graph::Graph graph;
  core::IdVector<graph::ValueId, graph::ValueId> to;  // old value -> new value; invalid: gone
};

// Two rewritings, one after the other, as one: values of the first one's old graph to values of the
// second one's new graph.
Rewritten chained(const Rewritten& first, Rewritten second);

// Emits what stands for one node, given its inputs in the new graph, and returns one value per
// output of the node (invalid for outputs that nothing may read any more); nothing: keep the node.
using ReplaceFn = std::function<std::optional<std::vector<graph::ValueId>>(
    graph::GraphBuilder&, const graph::Node&, const std::vector<graph::ValueId>& inputs)>;

// Copies inputs, persistent values, nodes, outputs and state versions. Node names stay.
Rewritten rewrite(const graph::Graph& old, const ReplaceFn& replace);

}  // namespace lowtide::passes
