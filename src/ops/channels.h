// What the kernels of batch and group normalisation share: tensors as rows of channels, and scratch
// with one number for each channel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "graph/kernel.h"
#include "kernels/simd/normalize.h"
#include "ops/strided.h"

namespace lowtide::ops {

// Whether each sample's channels lie side by side in float32.
inline bool has_channel_rows(const core::TensorType& x) {
  return x.dtype == core::DType::kFloat32 &&
         (x.shape.rank() == 2 || x.layout == core::Layout::kChannelsLast);
}

// Elements of one channel.
inline std::int64_t per_channel(const core::Shape& shape) {
  return shape[1] == 0 ? 0 : shape.elements() / shape[1];
}

inline kernels::ChannelRows channel_rows(const core::Shape& shape) {
  return {.rows = per_channel(shape), .channels = shape[1]};
}

// Gives out a kernel's scratch piece by piece: first doubles, then floats.
class ScratchCursor {
 public:
  explicit ScratchCursor(std::span<std::byte> scratch) : at_(scratch.data()) {}

  double* doubles(std::int64_t count) {
    double* const result = reinterpret_cast<double*>(at_);
    at_ += static_cast<std::size_t>(count) * sizeof(double);
    return result;
  }

  // value(c) for each channel, repeated as the kernels want it.
  template <class F>
  const float* by_channel(std::int64_t channels, F&& value) {
    const std::int64_t period = kernels::channel_period(channels);
    float* const result = reinterpret_cast<float*>(at_);
    at_ += static_cast<std::size_t>(period) * sizeof(float);
    for (std::int64_t c = 0; c < channels; ++c) result[c] = static_cast<float>(value(c));
    kernels::repeat_channels({result, static_cast<std::size_t>(period)}, channels);
    return result;
  }

 private:
  std::byte* at_;
};

// The bytes for that many doubles and arrays by channel.
inline Bytes scratch_bytes(std::int64_t doubles, std::int64_t arrays, std::int64_t channels) {
  return Bytes(doubles * static_cast<std::int64_t>(sizeof(double)) +
               arrays * kernels::channel_period(channels) *
                   static_cast<std::int64_t>(sizeof(float)));
}

// Calls f(channel, offset) for each element, in any layout.
template <class F>
void for_each_of_channels(const core::TensorType& x, F&& f) {
  const std::vector<std::int64_t> strides = core::strides(x);
  for (Index i(x.shape); i.valid(); i.next()) {
    f(static_cast<std::size_t>(i[1]), i.offset(strides));
  }
}

}  // namespace lowtide::ops
