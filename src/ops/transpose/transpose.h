// Transpose: the axes in another order.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// Axis i of the output is axis perm[i] of the input. `layout` is the output's.
struct Transpose {
  std::vector<std::size_t> perm;
  core::Layout layout = core::Layout::kPlain;

  bool operator==(const Transpose&) const = default;
};

// Takes any layout. Emits nothing for the identity; a view where no byte moves: axes of length 1,
// and images between (N, C, H, W) channels-last and (N, H, W, C), which therefore come out
// channels-last. Everything else comes out plain. Throws Error(kInvalidArgument) where `perm` is no
// permutation of x's axes.
graph::ValueId transpose(graph::GraphBuilder& b, graph::ValueId x, std::vector<std::size_t> perm);

const graph::OpDef& transpose_op();

}  // namespace lowtide::ops
