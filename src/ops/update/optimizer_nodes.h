// Optimizer steps as nodes of an inference graph: Adagrad, Adam and Momentum of ONNX's preview
// domain for training. What Lowtide's own training uses is update.h.
#pragma once

#include <string_view>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

inline constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";

std::vector<graph::ValueId> read_adagrad(graph::OnnxNode& node);
std::vector<graph::ValueId> read_adam(graph::OnnxNode& node);
std::vector<graph::ValueId> read_momentum(graph::OnnxNode& node);

}  // namespace lowtide::ops
