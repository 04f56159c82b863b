// The kernels of batch normalisation's ops, and the attributes of those only its builders make.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/batch_norm/batch_norm.h"

namespace lowtide::ops {

struct BatchStatistics {
  double epsilon = 1e-5;

  bool operator==(const BatchStatistics&) const = default;
};
struct InverseDeviation {
  double epsilon = 1e-5;

  bool operator==(const InverseDeviation&) const = default;
};
struct BatchNormApply {
  bool operator==(const BatchNormApply&) const = default;
};
struct BatchNormReduce {
  bool operator==(const BatchNormReduce&) const = default;
};
struct BatchNormInputGradient {
  bool fixed_statistics = false;

  bool operator==(const BatchNormInputGradient&) const = default;
};

std::vector<graph::Kernel<BatchNorm>> batch_norm_kernels();
std::vector<graph::Kernel<BatchStatistics>> batch_statistics_kernels();
std::vector<graph::Kernel<InverseDeviation>> inverse_deviation_kernels();
std::vector<graph::Kernel<BatchNormApply>> batch_norm_apply_kernels();
std::vector<graph::Kernel<BatchNormReduce>> batch_norm_reduce_kernels();
std::vector<graph::Kernel<BatchNormInputGradient>> batch_norm_input_gradient_kernels();

}  // namespace lowtide::ops
