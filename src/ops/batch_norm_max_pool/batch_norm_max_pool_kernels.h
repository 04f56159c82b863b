// The kernels of BatchNormMaxPool: those of the norm and of the pool, on one sample after another.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"

namespace lowtide::ops {

// Attributes that only the gradient makes.
struct BatchNormMaxPoolReduce {
  BatchNormMaxPool forward;

  bool operator==(const BatchNormMaxPoolReduce&) const = default;
};
struct BatchNormMaxPoolInputGradient {
  BatchNormMaxPool forward;

  bool operator==(const BatchNormMaxPoolInputGradient&) const = default;
};

std::vector<graph::Kernel<BatchNormMaxPool>> batch_norm_max_pool_kernels();
std::vector<graph::Kernel<BatchNormMaxPoolReduce>> batch_norm_max_pool_reduce_kernels();
std::vector<graph::Kernel<BatchNormMaxPoolInputGradient>>
batch_norm_max_pool_input_gradient_kernels();

}  // namespace lowtide::ops
