// What normalisations do to rows of channels: sums per channel, sums per row, affine maps.
#pragma once

#include <cstdint>
#include <span>

namespace lowtide::kernels {

// A matrix of `rows` x `channels` floats: a batch in the channels-last order, or part of one.
struct ChannelRows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;

  [[nodiscard]] std::int64_t elements() const { return rows * channels; }
};

// Rows are taken several at a time where channels are few, so that vectors are filled: all
// per-channel arrays of the functions below are repeated to channel_period() elements.
std::int64_t channel_period(std::int64_t channels);
void repeat_channels(std::span<float> values, std::int64_t channels);

// Two sums per channel in double precision, over a partition of the rows that depends on nothing
// but the matrix.
struct ChannelSums {
  double* first;   // [channels]
  double* second;  // [channels]
};
// Doubles of scratch that the functions that fill ChannelSums need.
std::int64_t channel_sums_scratch(const ChannelRows& x);

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
