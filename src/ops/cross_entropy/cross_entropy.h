// Cross-entropy of logits against class labels, with what a trainer needs beside the loss.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/builder.h"

namespace lowtide::ops {

struct CrossEntropy {
  std::size_t class_axis = 1;
  std::optional<std::int64_t> ignore_index;  // this label counts for nothing
  double label_smoothing = 0;                // the share spread evenly over all classes
  bool has_weights = false;                  // set by the builder

  bool operator==(const CrossEntropy&) const = default;
};

// `loss`, a float64 scalar: normalizer times the sum over the labels y that count of
// (1 - s) w[y] (-log p[y]) + s / classes * sum_c w[c] (-log p[c]), p = softmax(logits). With
// normalizer = 1 / (sum of w[y] over the whole batch) the losses of a batch's parts add up to the
// batch's mean loss, whatever the parts. `correct`, an int64 scalar: labels that count and are the
// first largest logit.
struct LossValues {
  graph::ValueId loss;
  graph::ValueId correct;
};

// Logits of rank >= 2; int64 labels with the logits' other axes; a float scalar; class weights of
// shape [classes] or none. A label that is no class counts for nothing, like an ignored one.
LossValues cross_entropy(graph::GraphBuilder& b,
                         graph::ValueId logits,
                         graph::ValueId labels,
                         graph::ValueId normalizer,
                         CrossEntropy attributes,
                         graph::ValueId weights = {});

// Inputs: logits, labels, normalizer, weights (if any), the loss's gradient (if not 1).
struct CrossEntropyGradient {
  CrossEntropy loss;
  bool has_loss_gradient = false;

  bool operator==(const CrossEntropyGradient&) const = default;
};

const graph::OpDef& cross_entropy_op();
const graph::OpDef& cross_entropy_gradient_op();

}  // namespace lowtide::ops
