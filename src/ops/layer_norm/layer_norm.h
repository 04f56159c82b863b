// Layer normalisation: each sample's trailing axes by their own mean and deviation.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct LayerNorm {
  std::size_t axis = 0;  // this one and all after it are normalised together
  double epsilon = 1e-5;
  bool has_bias = false;  // set by the builder

  bool operator==(const LayerNorm&) const = default;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on (negative
// ones count from the back); scale and bias, which may be invalid, have the shape of those axes.
// Mean and inverse deviation have x's shape with those axes 1.
struct LayerNormValues {
  graph::ValueId y;
  graph::ValueId mean;
  graph::ValueId inverse_deviation;
};
LayerNormValues layer_norm(graph::GraphBuilder& b,
                           graph::ValueId x,
                           graph::ValueId scale,
                           graph::ValueId bias,
                           std::int64_t axis,
                           double epsilon);

const graph::OpDef& layer_norm_op();
// x, dy, mean, inverse deviation -> gradients of scale and bias.
const graph::OpDef& layer_norm_reduce_op();
// x, dy, mean, inverse deviation, scale -> dx.
const graph::OpDef& layer_norm_input_gradient_op();

}  // namespace lowtide::ops
