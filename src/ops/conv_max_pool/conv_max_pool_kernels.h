// The kernels of ConvMaxPool: those of the convolution and of the pool, on one sample after
// another.
#pragma once

#include <memory>

#include "graph/kernel.h"
#include "ops/conv_max_pool/conv_max_pool.h"

namespace lowtide::ops {

// The type of what the pool reads.
graph::TensorType pooled_type(const ConvMaxPool& a,
                              const graph::TensorType& x,
                              std::int64_t channels);

std::vector<graph::Kernel<ConvMaxPool>> conv_max_pool_kernels();
std::vector<graph::Kernel<ConvMaxPool>> conv_max_pool_weight_gradient_kernels();
std::vector<graph::Kernel<ConvMaxPoolGradient>> conv_max_pool_input_gradient_kernels();

}  // namespace lowtide::ops
