#include "passes/fuse/fuse.h"

#include "passes/fuse/attention/attention.h"
#include "passes/fuse/bias.h"
#include "passes/fuse/gelu.h"

namespace lowtide::passes {

void fuse(graph::Graph& graph) {
  fuse_attention(graph);
  fuse_gelu(graph);
  fuse_biases(graph);
}

}  // namespace lowtide::passes
