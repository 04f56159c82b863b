// The kernels of NormedConvGradient.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"

namespace lowtide::ops {

// Whether one of the kernels that compute y while they pack takes these types.
bool suits_normed_conv_gradient(const Conv& a, const graph::Signature& types);

std::vector<graph::Kernel<NormedConvGradient>> normed_conv_gradient_kernels();

}  // namespace lowtide::ops
