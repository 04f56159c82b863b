// Losses of a prediction against a target of the same shape: squared error, and binary
// cross-entropy of logits.
#pragma once

#include "graph/builder.h"
#include "kernels/simd/loss.h"

namespace lowtide::ops {

struct PairLoss {
  kernels::PairLoss kind = kernels::PairLoss::kSquaredError;

  bool operator==(const PairLoss&) const = default;
};

// normalizer times the sum over all elements, a float64 scalar. With normalizer = 1 / (elements of
// the whole batch) the losses of a batch's parts add up to its mean loss. The target takes no
// gradient.
graph::ValueId squared_error(graph::GraphBuilder& b,
                             graph::ValueId prediction,
                             graph::ValueId target,
                             graph::ValueId normalizer);
// max(z, 0) - z t + log(1 + exp(-|z|)) of logits z and targets t in [0, 1].
graph::ValueId binary_cross_entropy(graph::GraphBuilder& b,
                                    graph::ValueId logits,
                                    graph::ValueId target,
                                    graph::ValueId normalizer);

const graph::OpDef& pair_loss_op();
const graph::OpDef& pair_loss_gradient_op();

}  // namespace lowtide::ops
