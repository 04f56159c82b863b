// Which axis of an output holds the classes that cross-entropy chooses from.
#pragma once

#include <cstddef>

#include "onnx/read.h"

namespace lowtide::train {

// The last one where an output answers each token of an input of integers, (N, T) to (N, T,
// classes); that of the softmax where one makes the output; else 1, as ONNX's and PyTorch's losses
// have it.
std::size_t likely_class_axis(const onnx::Model& model, graph::ValueId output);

// Whether an output answers each token of an input of integers, (N, T) to (N, T, classes).
bool predicts_tokens(const onnx::Model& model, graph::ValueId output);

}  // namespace lowtide::train
