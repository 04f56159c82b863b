// Biases as part of the products they are added to.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// A row that is added to a product of matrices, which nothing else reads, becomes part of its node.
// Values keep their ids. For graphs before differentiation.
void fuse_biases(graph::Graph& graph);

}  // namespace lowtide::passes
