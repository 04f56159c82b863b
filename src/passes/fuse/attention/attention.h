// Attention as one node, on tensors as they lie.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Replaces softmax attention that was written out by the attention op, and lets that op read its
// heads where they were split and transposed from and write its result where it is transposed to.
// Numbers stay the same up to rounding; where a row of scores is hidden altogether, zeros take the
// place of NaN. What was replaced is dropped from the graph; values keep their ids. For graphs
// before differentiation.
void fuse_attention(graph::Graph& graph);

}  // namespace lowtide::passes
