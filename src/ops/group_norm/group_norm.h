// Group normalisation, and instance normalisation as its case of one channel to a group.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct GroupNorm {
  std::int64_t groups = 1;
  double epsilon = 1e-5;

  bool operator==(const GroupNorm&) const = default;
};

// Each sample's channels (axis 1 of x of rank >= 2), `groups` equal groups of them, by mean and
// deviation of the group over its channels and all positions; then scaled and shifted. Scale and
// bias have shape [channels] (ONNX from opset 21 on) or [groups] (opset 18). From rank 3 on x is
// brought to channels-last, and y is. Mean and inverse deviation have shape [samples, groups].
struct GroupNormValues {
  graph::ValueId y;
  graph::ValueId mean;
  graph::ValueId inverse_deviation;
};
GroupNormValues group_norm(graph::GraphBuilder& b,
                           graph::ValueId x,
                           graph::ValueId scale,
                           graph::ValueId bias,
                           const GroupNorm& attributes);

const graph::OpDef& group_norm_op();
// x, dy, mean, inverse deviation -> gradients of scale and bias.
const graph::OpDef& group_norm_reduce_op();
// x, dy, mean, inverse deviation, scale -> dx.
const graph::OpDef& group_norm_input_gradient_op();

}  // namespace lowtide::ops
