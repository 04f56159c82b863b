// Losses of a prediction against a target of the same shape: squared and absolute error, Huber's,
// and binary cross-entropy of logits.
#pragma once

#include "graph/builder.h"
#include "kernels/simd/loss.h"

namespace lowtide::ops {

using kernels::PairLoss;
using kernels::PairLossKind;

// normalizer times the sum over all elements, a float64 scalar. With normalizer = 1 / (elements of
// the whole batch) the losses of a batch's parts add up to its mean loss. The target takes no
// gradient.
graph::ValueId pair_loss(graph::GraphBuilder& b,
                         const PairLoss& loss,
                         graph::ValueId prediction,
                         graph::ValueId target,
                         graph::ValueId normalizer);

const graph::OpDef& pair_loss_op();
const graph::OpDef& pair_loss_gradient_op();

}  // namespace lowtide::ops
