// Convolutions and their gradients by oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/dnnl/computation.h"

namespace lowtide::kernels {

// A float32 convolution over one, two or three spatial axes. x and y are (N, C, spatial...), stored
// channels-last; w is (C of y, C of x / groups, kernel...), stored in that order. No size may be 0.
struct ConvolutionShape {
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> w;
  std::vector<std::int64_t> y;
  std::vector<std::int64_t> strides;  // from here on: one entry for each spatial axis
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  std::int64_t groups = 1;
  bool bias = false;  // a third input, one number for each channel of the output; not for weights
};

enum class ConvolutionPass : std::uint8_t {
  kForward,         // x, w (and bias) to y
  kInputGradient,   // dy, w (and bias) to dx
  kWeightGradient,  // x, dy to dw
};

// Null where oneDNN has no fast implementation. The weights are brought into the order it works in
// within the scratch.
std::unique_ptr<Computation> make_convolution(ConvolutionPass pass, const ConvolutionShape& shape);

}  // namespace lowtide::kernels
