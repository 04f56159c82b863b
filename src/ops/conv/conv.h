// Conv: convolution over one to three spatial axes, with groups, and its two gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// One entry for each spatial axis; an empty list means stride 1, dilation 1 or no padding. `kernel`
// and `bias` are set by conv(): the kernel's size is that of the weights. Negative padding cuts.
struct Conv {
  std::vector<std::int64_t> strides = {};
  std::vector<std::int64_t> dilations = {};
  std::vector<std::int64_t> pads_begin = {};
  std::vector<std::int64_t> pads_end = {};
  std::int64_t groups = 1;
  std::vector<std::int64_t> kernel = {};
  bool bias = false;

  bool operator==(const Conv&) const = default;
};

// x is (N, C, spatial...), of any layout, w (O, C / groups, kernel...), bias (O) or an invalid id.
// The result, (N, O, spatial...), is channels-last.
graph::ValueId conv(graph::GraphBuilder& b,
                    graph::ValueId x,
                    graph::ValueId w,
                    graph::ValueId bias,
                    Conv attributes);

// The gradient of a convolution with respect to x needs the spatial sizes of x, which strides hide.
struct ConvInputGradient {
  Conv conv;
  std::vector<std::int64_t> spatial;

  bool operator==(const ConvInputGradient&) const = default;
};

const graph::OpDef& conv_op();
const graph::OpDef& conv_weight_gradient_op();  // x, dy to dw
const graph::OpDef& conv_input_gradient_op();   // w, dy to dx

}  // namespace lowtide::ops
