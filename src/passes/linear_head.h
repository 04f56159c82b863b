// The linear layer that a network ends in.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace lowtide::passes {

// logits = hidden weight + bias, the axes before the last one as they are in the logits.
struct LinearHead {
  graph::ValueId hidden;
  graph::ValueId weight;  // (depth, classes), or the other way round where `transposed`
  graph::ValueId bias;    // a row, or invalid
  bool transposed = false;
};

// The layer that makes the logits, if one does.
std::optional<LinearHead> find_linear_head(const graph::Graph& graph, graph::ValueId logits);

}  // namespace lowtide::passes
