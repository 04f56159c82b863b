// Gradients of what a concatenation joined, made apart.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Where the gradient of a convolution's input is made whole only to be split among those that were
// joined, one node makes the parts. For graphs behind differentiation; values keep their ids.
void fuse_split_gradients(graph::Graph& graph);

}  // namespace lowtide::passes
