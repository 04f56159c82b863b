// Cross-entropy of a linear layer's outputs, which never exist whole: for vocabularies.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "ops/cross_entropy/cross_entropy.h"

namespace lowtide::ops {

// The loss of logits = hidden weight + bias, some rows at a time. A row's gradients are computed
// with its loss, while its logits are at hand: they are outputs of the forward node.
struct LinearCrossEntropy {
  CrossEntropy loss;         // of logits (rows, classes)
  bool transposed = false;   // the weight lies as (classes, depth)
  bool bias = false;         // set by the builder
  bool gradients = true;     // of hidden
  bool learned = true;       // and of weight and bias
  std::int64_t portion = 0;  // rows at a time; 0: as many as keep the logits small

  bool operator==(const LinearCrossEntropy&) const = default;
};

// hidden (..., depth); weight (depth, classes) or transposed; bias (classes) or none; the rest as
// cross_entropy takes it. Without `gradients` the loss cannot be differentiated.
LossValues linear_cross_entropy(graph::GraphBuilder& b,
                                graph::ValueId hidden,
                                graph::ValueId weight,
                                graph::ValueId bias,
                                graph::ValueId labels,
                                graph::ValueId normalizer,
                                LinearCrossEntropy attributes,
                                graph::ValueId class_weights = {});

const graph::OpDef& linear_cross_entropy_op();

}  // namespace lowtide::ops
