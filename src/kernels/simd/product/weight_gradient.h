// The gradient of a convolution's weights, as a matrix product over all windows.
#pragma once

#include <cstdint>

#include "kernels/simd/norm/normalized_input.h"
#include "kernels/window_axis.h"

namespace lowtide::kernels {

// x is (samples, spatial..., groups * in_each) and dy (samples, windows..., groups * out_each),
// both dense and channels-last; dw is (groups * out_each, in_each, kernel...).
struct WeightGradientShape {
  WindowAxes axes;
  std::int64_t samples = 0;
  std::int64_t groups = 1;
  std::int64_t in_each = 0;   // channels of x in one group
  std::int64_t out_each = 0;  // channels of dy in one group

  // Elements of dw for each of its channels out.
  [[nodiscard]] std::int64_t columns() const {
    return in_each * axes[0].kernel * axes[1].kernel * axes[2].kernel;
  }
};

// Whether this is expected to be faster than the library's: its loops lose on few rows or columns,
// and, where windows are single pixels in order, on any but large sides.
bool suits_tiles(const WeightGradientShape& shape);

// Floats of scratch for any number of threads up to the pool's size.
std::int64_t weight_gradient_scratch(const WeightGradientShape& shape);

// dw[o, j] = sum over windows of dy[window, o] x[window, j]. Each element is summed in the same
// order for any number of threads: 128 windows at a time, in registers, then over these sums. With
// `normalize`, what it makes of x stands in its place.
void weight_gradient(const WeightGradientShape& shape,
                     const float* x,
                     const float* dy,
                     float* dw,
                     float* scratch,
                     const NormalizedInput* normalize = nullptr);

}  // namespace lowtide::kernels
