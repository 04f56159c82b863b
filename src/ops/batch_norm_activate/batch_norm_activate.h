// Training-mode batch norm together with what follows it: an activation, or the sum with a residual
// and a ReLU. One pass over memory each way where the separate ops need two or three, and nothing
// between them is kept: backward computes the activation's argument again from x.
#pragma once

#include "graph/builder.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

// The values of a BatchNormApply node, in the order of its inputs.
struct NormInputs {
  graph::ValueId x;
  graph::ValueId mean;
  graph::ValueId inverse_deviation;
  graph::ValueId scale;
  graph::ValueId bias;
};

// Clip, HardSwish, Relu and Silu.
bool can_follow_batch_norm(UnaryKind kind);

// y = f((x - mean) * inverse deviation * scale + bias) for each channel of x (axis 1).
graph::ValueId batch_norm_activate(graph::GraphBuilder& b, const NormInputs& in, const Unary& f);

// Whether batch_norm_add_relu takes x: one bit an element is saved, and a row of channels fills
// whole bytes.
bool can_add_to_batch_norm(const core::TensorType& x);

// y = max((x - mean) * inverse deviation * scale + bias + residual, 0); residual has the type of x.
graph::ValueId batch_norm_add_relu(graph::GraphBuilder& b,
                                   const NormInputs& in,
                                   graph::ValueId residual);

// x, mean, inverse deviation, scale, bias -> y.
const graph::OpDef& batch_norm_activate_op();
// x, dy, mean, inverse deviation, scale, bias -> gradients of scale and bias.
const graph::OpDef& batch_norm_activate_reduce_op();
// x, dy, mean, inverse deviation, scale, bias, gradients of scale and bias -> dx.
const graph::OpDef& batch_norm_activate_input_gradient_op();
// x, mean, inverse deviation, scale, bias, residual -> y, mask.
const graph::OpDef& batch_norm_add_relu_op();
// x, mask, mean, inverse deviation, dy [, a second part of dy] -> gradients of scale, bias and of
// the sum before the ReLU.
const graph::OpDef& batch_norm_masked_reduce_op();

}  // namespace lowtide::ops
