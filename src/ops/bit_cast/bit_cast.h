// BitCast: the same bits read as another dtype of the same width.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

struct BitCast {
  core::DType to = core::DType::kInt32;

  bool operator==(const BitCast&) const = default;
};

// A view, in x's layout; emits nothing where the dtype stays. Throws Error(kInvalidArgument) for
// another width, and for bools, which are not any bits.
graph::ValueId bit_cast(graph::GraphBuilder& b, graph::ValueId x, core::DType to);

const graph::OpDef& bit_cast_op();

}  // namespace lowtide::ops
