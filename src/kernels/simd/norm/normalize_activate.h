// Batch normalisation with what follows it, in one pass each way: an activation, or the sum with a
// residual and a ReLU.
#pragma once

#include <cstdint>

#include "kernels/simd/norm/normalize.h"
#include "kernels/simd/norm/normalized_input.h"

namespace lowtide::kernels {

// Coefficients have channel_period() elements here.

// y = f(affine of x). y may be x.
void channel_affine_activate(const float* x,
                             const ChannelAffine& affine,
                             const ChannelActivation& f,
                             float* y,
                             const ChannelRows& shape);

// Sums of g and of g (x - center), where g = dy f'(affine of x).
void channel_activation_sums(const float* x,
                             const float* dy,
                             const ChannelAffine& affine,
                             const ChannelActivation& f,
                             const ChannelRows& shape,
                             const ChannelSums& sums,
                             double* scratch);

// dx = g * scale + (x - center) * slope + offset, with g as above and the coefficients of
// `by_channel`. dx may be x or dy.
void channel_activation_gradient(const float* x,
                                 const float* dy,
                                 const ChannelAffine& affine,
                                 const ChannelActivation& f,
                                 const ChannelSlopes& by_channel,
                                 float* dx,
                                 const ChannelRows& shape);

// ---- With a residual. The number of channels must be a multiple of 8.

// z = affine of x + residual; y = max(z, 0). Bit i % 8 of mask[i / 8] is 0 where z[i] <= 0, else
// 1. y may be x or residual.
void channel_affine_add_relu(const float* x,
                             const ChannelAffine& affine,
                             const float* residual,
                             float* y,
                             std::uint8_t* mask,
                             const ChannelRows& shape);

// g = dy + more where the bit is 1, else 0 (no `more`: null); and the sums of g and g (x - center).
// g may be dy or more.
void channel_masked_sums(const float* x,
                         const float* dy,
                         const float* more,
                         const std::uint8_t* mask,
                         const float* center,
                         float* g,
                         const ChannelRows& shape,
                         const ChannelSums& sums,
                         double* scratch);

}  // namespace lowtide::kernels
