// What the kernels of batch and group normalisation share: tensors as rows of channels, and scratch
// with one number for each channel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/check.h"
#include "graph/kernel.h"
#include "kernels/simd/norm/normalize.h"
#include "ops/strided.h"

namespace lowtide::ops {

// Whether each sample's channels lie side by side in float32.
inline bool has_channel_rows(const core::TensorType& x) {
  return x.dtype == core::DType::kFloat32 &&
         (x.shape.rank() == 2 || x.layout == core::Layout::kChannelsLast);
}

// Checks that inputs `first` to `end` hold one number for each channel of input 0.
inline void check_channels(graph::Types in, std::size_t first, std::size_t end) {
  const core::TensorType expected{in[0].dtype, {in[0].shape[1]}};
  for (std::size_t i = first; i < end; ++i) {
    LT_CHECK(in[i] == expected, "one number for each channel");
  }
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

// How many elements a channel's statistics are of; an empty batch must not divide by zero.
inline double elements_averaged(const core::TensorType& x) {
  return static_cast<double>(std::max<std::int64_t>(per_channel(x.shape), 1));
}

// ---- What kernels whose first input is rows of channels say of themselves

template <class A>
bool channel_rows_first(const A&, const graph::Signature& types) {
  return has_channel_rows(types.in[0]);
}

template <class A, int kArrays>
Bytes scratch_arrays(const A&, const graph::Signature& types) {
  return scratch_bytes(0, kArrays, types.in[0].shape[1]);
}

// Two totals for each channel, the kernel's own scratch, and some arrays.
template <class A, int kArrays>
Bytes scratch_sums(const A&, const graph::Signature& types) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  return scratch_bytes(2 * rows.channels + kernels::channel_sums_scratch(rows), kArrays,
                       rows.channels);
}

// Outputs 0 and 1, the gradients of scale and bias, from the sums of g (x - mean) and of g.
inline void write_parameter_gradients(const kernels::ChannelSums& sums,
                                      const float* inverse_deviation,
                                      std::int64_t channels,
                                      const graph::Run& run) {
  for (std::int64_t c = 0; c < channels; ++c) {
    run.output<float>(0)[c] = static_cast<float>(sums.second[c] * double{inverse_deviation[c]});
    run.output<float>(1)[c] = static_cast<float>(sums.first[c]);
  }
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
