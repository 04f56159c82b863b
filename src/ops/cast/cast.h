// Cast: the same numbers in another dtype.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

struct Cast {
  core::DType to = core::DType::kFloat32;

  bool operator==(const Cast&) const = default;
};

// Keeps x's layout; emits nothing where the dtype stays. Floats become integers by dropping the
// fraction, the nearest integer there is where they are too large, and 0 where they are NaN;
// integers wrap around; anything but 0 becomes true. A gradient passes between float types only.
graph::ValueId cast(graph::GraphBuilder& b, graph::ValueId x, core::DType to);

// The element type that ONNX gives this number, float32 for float16 and bfloat16, which are
// computed in it; throws Error(kUnsupported).
core::DType dtype_of_onnx(std::int64_t code);

const graph::OpDef& cast_op();

}  // namespace lowtide::ops
