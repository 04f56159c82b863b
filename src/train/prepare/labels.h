// How labels and targets lie beside the outputs that a loss compares them with.
#pragma once

#include <cstddef>
#include <optional>

#include "core/shape.h"
#include "onnx/read.h"

namespace lowtide::train {

// The last one where an output answers each token of an input of integers, (N, T) to (N, T,
// classes); that of the softmax where one makes the output; else 1, as ONNX's and PyTorch's losses
// have it.
std::size_t likely_class_axis(const onnx::Model& model, graph::ValueId output);

// Whether an output answers each token of an input of integers, (N, T) to (N, T, classes).
bool predicts_tokens(const onnx::Model& model, graph::ValueId output);

struct LabelPlacement {
  std::size_t class_axis = 1;  // of the logits
  core::Shape shape;           // of a sample's labels: the logits' without batch and classes
};

// Where labels of that shape a sample answer logits: one for each place beside the class axis,
// which is the likely one if it can be. An axis of 1 before or behind the places, where others have
// channels, is passed over.
std::optional<LabelPlacement> place_labels(const core::Shape& label,
                                           const core::Shape& logits,
                                           std::size_t likely_axis);

// Whether a sample of targets lies in memory as one of outputs (which have the batch in front)
// does: axes of 1 aside they have the same shape, or one of them is a mere row of as many.
bool same_order(const core::Shape& target, const core::Shape& outputs);

}  // namespace lowtide::train
