// Convolution by 3 x 3 weights with a quarter of the products: Winograd's minimal filtering on
// tiles of 6 x 6 pixels (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/simd/norm/normalized_input.h"
#include "kernels/window_axis.h"

namespace lowtide::kernels {

// Windows of 3 x 3 pixels, one at each place. x is (samples, in, in, channels_in), dense and
// channels-last, y likewise; axes[0] is of size 1.
struct WinogradShape {
  WindowAxes axes;
  std::int64_t samples = 0;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
};

// Which weights a convolution multiplies with.
enum class WinogradWeights : std::uint8_t {
  kGiven,    // w is (channels_out, channels_in, 3, 3)
  kFlipped,  // w is (channels_in, channels_out, 3, 3), its places in reverse: the gradient of x
};

// Whether the windows are such as these kernels take, and enough of them and of channels to make up
// for the transforms.
bool suits_winograd(const WinogradShape& shape);

// Floats of scratch for any number of threads up to the pool's size.
std::int64_t winograd_scratch(const WinogradShape& shape);
std::int64_t winograd_weight_gradient_scratch(const WinogradShape& shape);

// Some of the channels of a convolution's result, dense by themselves.
struct WinogradOutput {
  float* y;
  std::int64_t channels;
};

// y[window, o] = bias[o] + sum of w[o, c, tap] x[window + tap, c]; `bias` is null without one.
// Against direct summation rounding errors grow about twofold. Each element is summed in the same
// order for any number of threads. `outputs` side by side are y: the same bits, however cut.
void winograd_convolution(const WinogradShape& shape,
                          WinogradWeights weights,
                          const float* x,
                          const float* w,
                          const float* bias,
                          std::span<const WinogradOutput> outputs,
                          float* scratch);

// Some of the channels of a convolution's input, dense by themselves. With `normalize`, what it
// makes of x stands in its place.
struct WinogradInput {
  const float* x;
  std::int64_t channels;
  const NormalizedInput* normalize = nullptr;
};

// Inputs of which all but the last have a multiple of so many channels may stand for one.
inline constexpr std::int64_t kWinogradInputUnit = 16;

// dw[o, c, tap] = sum over windows of dy[window, o] x[window + tap, c], as precise and in an order
// as little dependent on threads. `inputs` side by side are x: to the same bits, however cut.
void winograd_weight_gradient(const WinogradShape& shape,
                              std::span<const WinogradInput> inputs,
                              const float* dy,
                              float* dw,
                              float* scratch);

}  // namespace lowtide::kernels
