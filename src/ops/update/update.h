// What a training step does to state: optimizer steps, gradient sums, running averages.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

// The elements of the `scalars` input of an optimizer step, which the host writes before each step.
enum class UpdateScalar : std::uint8_t {
  kLearningRate,
  kCorrection1,  // 1 / (1 - beta1^t), t counted from 1
  kCorrection2,  // 1 / (1 - beta2^t)
  kMomentum,     // of SGD; beta1 of Adam
  kNewShare,     // 1 - beta1, rounded once
};
inline constexpr std::int64_t kUpdateScalars = 5;

// g = clip * gradient + weight_decay * p;  v' = momentum * v + g;
// p' = p - rate * (nesterov ? g + momentum * v' : v').
// Inputs: p, gradient, scalars, v where there is momentum, clip (if any). Outputs: p', v'.
struct SgdUpdate {
  bool has_momentum = false;
  bool nesterov = false;
  double weight_decay = 0;
  bool has_clip = false;

  bool operator==(const SgdUpdate&) const = default;
};

// g = clip * gradient (+ weight_decay * p unless decoupled);
// m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2;
// p' = p - rate * (m' correction1 / (sqrt(v' correction2) + epsilon) + weight_decay * p if
// decoupled). Inputs: p, gradient, scalars, m, v, clip (if any). Outputs: p', m', v'.
struct AdamUpdate {
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
  bool has_clip = false;

  bool operator==(const AdamUpdate&) const = default;
};

// sum' = gradient where `first` is not 0 (the old sum is not read), else sum + gradient. Inputs:
// sum, gradient, first.
struct Accumulate {
  bool operator==(const Accumulate&) const = default;
};

// new = keep * old + (1 - keep) * factor * batch. Inputs: old, batch.
struct MovingAverage {
  double keep = 0.9;
  double factor = 1;

  bool operator==(const MovingAverage&) const = default;
};

// Each of these appends one update node and marks its outputs as the new versions of the state
// values it was given. `scalars` has kUpdateScalars elements; `clip` may be invalid, and `velocity`
// where there is no momentum.
void sgd_update(graph::GraphBuilder& b,
                graph::ValueId parameter,
                graph::ValueId gradient,
                graph::ValueId scalars,
                graph::ValueId velocity,
                graph::ValueId clip,
                SgdUpdate attributes);
void adam_update(graph::GraphBuilder& b,
                 graph::ValueId parameter,
                 graph::ValueId gradient,
                 graph::ValueId scalars,
                 graph::ValueId mean,
                 graph::ValueId square,
                 graph::ValueId clip,
                 AdamUpdate attributes);
void moving_average(graph::GraphBuilder& b,
                    graph::ValueId old,
                    graph::ValueId batch,
                    MovingAverage attributes);
void accumulate(graph::GraphBuilder& b,
                graph::ValueId sum,
                graph::ValueId gradient,
                graph::ValueId first);

const graph::OpDef& sgd_update_op();
const graph::OpDef& adam_update_op();
const graph::OpDef& moving_average_op();
const graph::OpDef& accumulate_op();

}  // namespace lowtide::ops
