// Conv: convolution over one to three spatial axes, with groups. Its gradient with respect to x is
// a ConvTranspose.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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

// What ConvTranspose shares: the sums of dy that are a bias's gradient,
graph::ValueId bias_gradient(graph::GraphBuilder& b, graph::ValueId dy);
// the cost of a pass, each of which multiplies each weight with each window of its group once,
graph::Cost cost_of_windows(const core::TensorType& w,
                            const core::TensorType& y,
                            const graph::Signature& types);
// the groups and kernel of an ONNX node (throws Error(kInvalidFile) where kernel_shape is not that
// of the weights), and its attributes.
Conv read_weights(const graph::OnnxNode& node, const core::Shape& weights);
std::vector<std::pair<std::string, graph::OnnxAttribute>> conv_attributes(const Conv& a);

const graph::OpDef& conv_op();
const graph::OpDef& conv_weight_gradient_op();  // x, dy to dw

}  // namespace lowtide::ops
