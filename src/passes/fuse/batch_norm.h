// Batch norm with what follows it in one node.
#pragma once

#include "passes/rewrite.h"

namespace lowtide::passes {

// Fuses a training-mode batch norm that only an activation reads with it, and one that only a sum
// reads, which only a ReLU reads, with both. The values between are gone from the result.
Rewritten fuse_batch_norm(const graph::Graph& graph);

}  // namespace lowtide::passes
