// Pooling over channels-last tensors.
#pragma once

#include <cstdint>

#include "kernels/window_axis.h"

namespace lowtide::kernels {

// x is samples x in[0] x in[1] x in[2] x channels, y the same with the numbers of windows. Padding
// must not be negative.
struct PoolShape {
  std::int64_t samples = 0;
  std::int64_t channels = 0;
  WindowAxes axes;
};

enum class Divisor : std::uint8_t {
  kInput,   // taps that meet the input
  kPadded,  // taps that meet the input or its padding
};

// The largest element of each window, NaN if there is one, -inf if it meets padding only.
void max_pool(const PoolShape& shape, const float* x, float* y);

// For each element of max_pool's y the tap it comes from, counted row-major over the kernel: the
// first of equal ones, the last NaN. Index must hold the kernel's largest tap.
template <class Index>
void max_pool_index(const PoolShape& shape, const float* x, Index* index);

// dx: each dy goes to where its index points.
template <class Index>
void max_pool_gradient(const PoolShape& shape, const Index* index, const float* dy, float* dx);

// The mean of each window, 0 if it meets padding only.
void average_pool(const PoolShape& shape, Divisor divisor, const float* x, float* y);
void average_pool_gradient(const PoolShape& shape, Divisor divisor, const float* dy, float* dx);

extern template void max_pool_index(const PoolShape&, const float*, std::uint8_t*);
extern template void max_pool_index(const PoolShape&, const float*, std::uint16_t*);
extern template void max_pool_index(const PoolShape&, const float*, std::uint32_t*);
extern template void max_pool_gradient(const PoolShape&, const std::uint8_t*, const float*, float*);
extern template void max_pool_gradient(const PoolShape&,
                                       const std::uint16_t*,
                                       const float*,
                                       float*);
extern template void max_pool_gradient(const PoolShape&,
                                       const std::uint32_t*,
                                       const float*,
                                       float*);

}  // namespace lowtide::kernels
