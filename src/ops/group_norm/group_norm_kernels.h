// The kernels of group normalisation's ops, and the attributes of those only gradients make.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/group_norm/group_norm.h"

namespace lowtide::ops {

struct GroupNormReduce {
  bool per_group = false;  // scale and bias have one number for each group, not each channel

  bool operator==(const GroupNormReduce&) const = default;
};
struct GroupNormInputGradient {
  bool operator==(const GroupNormInputGradient&) const = default;
};

std::vector<graph::Kernel<GroupNorm>> group_norm_kernels();
std::vector<graph::Kernel<GroupNormReduce>> group_norm_reduce_kernels();
std::vector<graph::Kernel<GroupNormInputGradient>> group_norm_input_gradient_kernels();

}  // namespace lowtide::ops
