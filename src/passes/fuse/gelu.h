// GELU as one node where it is written out.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Replaces x / 2 (1 + erf(x / sqrt 2)), and x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), with
// their factors in any order, by the op, which keeps x alone for the backward pass. Values keep
// their ids. For graphs before differentiation.
void fuse_gelu(graph::Graph& graph);

}  // namespace lowtide::passes
