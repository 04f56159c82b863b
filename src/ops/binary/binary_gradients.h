// The gradients of the elementwise ops on two tensors.
#pragma once

#include "graph/op_def.h"
#include "ops/binary/binary.h"

namespace lowtide::ops {

// not_differentiable for kinds without one.
graph::GradientFn<Binary> binary_gradient(BinaryKind kind);

}  // namespace lowtide::ops
