// What normalisations do to rows of channels: sums per channel, sums per row, affine maps.
#pragma once

#include "kernels/channel_rows.h"

namespace lowtide::kernels {

// Sums of x - shift and of its square; `shift` has channel_period() elements. A shift near the mean
// keeps the variance exact where it is small against the mean.
void channel_moments(const float* x,
                     const float* shift,
                     const ChannelRows& shape,
                     const ChannelSums& sums,
                     double* scratch);

// Sums of dy and of dy (x - center).
void channel_gradient_sums(const float* x,
                           const float* dy,
                           const float* center,
                           const ChannelRows& shape,
                           const ChannelSums& sums,
                           double* scratch);

// y = (x - center) * scale + offset. y may be x.
void channel_affine(const float* x,
                    const float* center,
                    const float* scale,
                    const float* offset,
                    float* y,
                    const ChannelRows& shape);

// dx = dy * scale + (x - center) * slope + offset. dx may be x or dy.
struct ChannelSlopes {
  const float* center;
  const float* scale;
  const float* slope;
  const float* offset;
};
void channel_gradient(const float* x,
                      const float* dy,
                      const ChannelSlopes& by_channel,
                      float* dx,
                      const ChannelRows& shape);

// y = x * scale. y may be x.
void channel_scale(const float* x, const float* scale, float* y, const ChannelRows& shape);

}  // namespace lowtide::kernels
