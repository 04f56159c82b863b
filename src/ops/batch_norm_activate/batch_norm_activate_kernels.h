// The kernels of batch norm with an activation, and the attributes that only its builders make.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"

namespace lowtide::ops {

struct BatchNormActivate {
  Unary activation;

  bool operator==(const BatchNormActivate&) const = default;
};
struct BatchNormActivateReduce {
  Unary activation;

  bool operator==(const BatchNormActivateReduce&) const = default;
};
struct BatchNormActivateInputGradient {
  Unary activation;

  bool operator==(const BatchNormActivateInputGradient&) const = default;
};
struct BatchNormAddRelu {
  bool operator==(const BatchNormAddRelu&) const = default;
};
struct BatchNormMaskedReduce {
  bool operator==(const BatchNormMaskedReduce&) const = default;
};

std::vector<graph::Kernel<BatchNormActivate>> batch_norm_activate_kernels();
std::vector<graph::Kernel<BatchNormActivateReduce>> batch_norm_activate_reduce_kernels();
std::vector<graph::Kernel<BatchNormActivateInputGradient>>
batch_norm_activate_input_gradient_kernels();
std::vector<graph::Kernel<BatchNormAddRelu>> batch_norm_add_relu_kernels();
std::vector<graph::Kernel<BatchNormMaskedReduce>> batch_norm_masked_reduce_kernels();

}  // namespace lowtide::ops
