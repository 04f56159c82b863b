// What a kernel may be given instead of a tensor that a batch normalisation makes: the tensor it is
// made of. The elements are computed where they are read, to the bits of the pass over the whole.
#pragma once

#include <cstdint>

#include "kernels/simd/elementwise_unary.h"

namespace lowtide::kernels {

// (x - center) * scale + offset, by channel.
struct ChannelAffine {
  const float* center;
  const float* scale;
  const float* offset;
};

struct ChannelActivation {
  UnaryFunction function = UnaryFunction::kRelu;
  UnaryParameters p;
};

// kClip, kHardSwish, kRelu and kSilu: the only ones that may follow an affine map in one pass.
bool can_follow_affine(UnaryFunction function);

// y = f(affine of x), or f(affine of x + residual) with a residual of x's shape; f is ReLU then.
// The coefficients' arrays go on past the last channel, with those of the first ones again, for
// kNormalizedMargin elements.
struct NormalizedInput {
  ChannelAffine affine;
  ChannelActivation f;
  const float* residual = nullptr;
};

inline constexpr std::int64_t kNormalizedMargin = 64;

}  // namespace lowtide::kernels
