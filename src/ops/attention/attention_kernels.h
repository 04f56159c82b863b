// What the attention ops' cards share with their kernels.
#pragma once

#include <algorithm>

#include "graph/op_def.h"
#include "ops/attention/attention.h"

namespace lowtide::ops {

// The forward node reads the tensors of heads, then the mask. The gradient's node reads these, then
// y, its statistics and dy, and writes a gradient for each tensor of heads.
inline std::size_t head_tensors(const Attention& a) {
  return std::max({a.q.input, a.k.input, a.v.input}) + 1;
}

inline std::size_t forward_inputs(const Attention& a) {
  return head_tensors(a) + (a.mask == MaskKind::kNone ? 0 : 1);
}

// The gradient op has the attributes of the op, in a type of its own.
struct AttentionGradient {
  Attention forward;

  bool operator==(const AttentionGradient&) const = default;
};

std::vector<graph::Kernel<Attention>> attention_kernels();
std::vector<graph::Kernel<AttentionGradient>> attention_gradient_kernels();

}  // namespace lowtide::ops
