// Nodes behind the loss that do at once what two do.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Where the gradient of a convolution's input is made whole only to be split among those that were
// joined, one node makes the parts; where that of a convolution with its pool only goes on through
// a rectified linear unit, one node makes what comes out there, in the place of what it was told
// by. For graphs behind differentiation; values keep their ids.
void fuse_gradients(graph::Graph& graph);

}  // namespace lowtide::passes
