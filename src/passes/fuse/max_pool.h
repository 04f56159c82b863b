// Maximum pools with what lies before them.
#pragma once

#include "passes/rewrite.h"

namespace lowtide::passes {

// Puts rectified linear units behind the maximum pools that alone read them: the same numbers and
// gradients from fewer elements. Where such a pool alone reads a large result of a convolution, or
// of a batch norm with an activation, the two become one node, which never holds that whole. For
// training: it notes where the maxima lie. Comes after fuse_batch_norm.
Rewritten fuse_max_pools(const graph::Graph& graph);

}  // namespace lowtide::passes
