// Batch normalisation: with given statistics as files have it, and with a batch's own as training
// does.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.9;       // the share of the running statistics that is kept
  bool training_mode = false;  // what the file says; the op itself always uses the given statistics

  bool operator==(const BatchNorm&) const = default;
};

// How running statistics follow those of a batch.
enum class RunningRule : std::uint8_t {
  kPyTorch,  // the variance of the batch divided by n - 1 (n where n is 1)
  kOnnx,     // the variance of the batch divided by n
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias for each channel (axis 1) of x of rank
// >= 2; the others have shape [channels]. From rank 3 on x is brought to channels-last, and y is.
graph::ValueId batch_norm(graph::GraphBuilder& b,
                          graph::ValueId x,
                          graph::ValueId scale,
                          graph::ValueId bias,
                          graph::ValueId mean,
                          graph::ValueId variance,
                          const BatchNorm& attributes);

// The same with mean and variance (divided by n) of x itself, differentiated through. Appends the
// new versions of the running statistics.
graph::ValueId batch_norm_train(graph::GraphBuilder& b,
                                graph::ValueId x,
                                graph::ValueId scale,
                                graph::ValueId bias,
                                graph::ValueId running_mean,
                                graph::ValueId running_variance,
                                const BatchNorm& attributes,
                                RunningRule rule);

// x, scale, bias, mean, variance -> y.
const graph::OpDef& batch_norm_op();
// x -> mean, 1 / sqrt(variance + epsilon), variance. Gradients do not pass: BatchNormApply's rule
// accounts for what flows through the statistics.
const graph::OpDef& batch_statistics_op();
// x, mean, inverse deviation, scale, bias -> y.
const graph::OpDef& batch_norm_apply_op();
// variance -> 1 / sqrt(variance + epsilon).
const graph::OpDef& inverse_deviation_op();
// x, dy, mean, inverse deviation -> gradients of scale and bias.
const graph::OpDef& batch_norm_reduce_op();
// x, dy, mean, inverse deviation, scale, gradients of scale and bias -> dx, or, where the
// statistics are given ones: dy, inverse deviation, scale -> dx.
const graph::OpDef& batch_norm_input_gradient_op();

}  // namespace lowtide::ops
