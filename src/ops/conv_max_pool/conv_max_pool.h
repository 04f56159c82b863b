// A convolution and the maximum pool behind it, sample by sample: of what the pool reads, no more
// than one sample ever is in memory, neither forward nor as a gradient.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/builder.h"
#include "ops/conv/conv.h"
#include "ops/pool/pool.h"

namespace lowtide::ops {

// Each window of the pool meets the convolution's result; the padding around counts for none.
struct ConvMaxPool {
  Conv conv;
  Pool pool;

  bool operator==(const ConvMaxPool&) const = default;
};

// The gradient of the input needs its spatial sizes, which strides hide. Where x is `rectified`,
// what a rectified linear unit made, the gradient may go on to before that.
struct ConvMaxPoolGradient {
  ConvMaxPool forward;
  std::vector<std::int64_t> spatial;
  bool rectified = false;

  bool operator==(const ConvMaxPoolGradient&) const = default;
};

// max_pool(conv(x, w, bias)), as these take them. The gradients differ from theirs in rounding:
// those of the weights and the bias are summed by samples and of fewer terms.
graph::ValueId conv_max_pool(graph::GraphBuilder& b,
                             graph::ValueId x,
                             graph::ValueId w,
                             graph::ValueId bias,
                             ConvMaxPool attributes);

const graph::OpDef& conv_max_pool_op();                  // x, w [, bias] to y and its index
const graph::OpDef& conv_max_pool_weight_gradient_op();  // x, index, dy to dw
const graph::OpDef& conv_max_pool_input_gradient_op();   // index, dy, w [, x] to dx, in x's place

// The node that does what the gradient of a ConvMaxPool's input and the gradient of the rectified
// linear unit before it do; nothing where the two are not such. Not part of the graph.
std::optional<graph::Node> rectified_input_gradient(const graph::Graph& graph,
                                                    const graph::Node& input_gradient,
                                                    const graph::Node& relu_gradient);

}  // namespace lowtide::ops
