// The kernels of JoinedConvGradient.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/joined_conv_gradient/joined_conv_gradient.h"

namespace lowtide::ops {

// Where the inputs of a part begin.
std::vector<std::size_t> part_inputs(const JoinedConvGradient& a);

// The tensor that the parts make side by side.
graph::TensorType joined_type(const JoinedConvGradient& a, graph::Types in);

// Whether the kernel that takes parts suits.
bool suits_joined_conv_gradient(const JoinedConvGradient& a, const graph::Signature& types);

std::vector<graph::Kernel<JoinedConvGradient>> joined_conv_gradient_kernels();

}  // namespace lowtide::ops
