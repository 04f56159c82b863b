// A training-mode batch norm with its activation and the maximum pool behind them, sample by
// sample: of what the pool reads, no more than one sample ever is in memory, neither forward nor as
// a gradient.
#pragma once

#include "graph/builder.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/pool/pool.h"

namespace lowtide::ops {

// Each window of the pool meets x; the padding around counts for none.
struct BatchNormMaxPool {
  Unary activation;
  Pool pool;

  bool operator==(const BatchNormMaxPool&) const = default;
};

// max_pool(batch_norm_activate(in)), as these take them. Gradients differ from theirs in rounding:
// sums over the batch are those of its samples' sums.
graph::ValueId batch_norm_max_pool(graph::GraphBuilder& b,
                                   const NormInputs& in,
                                   BatchNormMaxPool attributes);

// x, mean, inverse deviation, scale, bias -> y and its index.
const graph::OpDef& batch_norm_max_pool_op();
// x, index, dy, mean, inverse deviation, scale, bias -> gradients of scale and bias.
const graph::OpDef& batch_norm_max_pool_reduce_op();
// x, index, dy, mean, inverse deviation, scale, bias, gradients of scale and bias -> dx.
const graph::OpDef& batch_norm_max_pool_input_gradient_op();

}  // namespace lowtide::ops
