// How ONNX's Attention (opset 23 on) becomes nodes.
#pragma once

#include <vector>

#include "graph/onnx_rule.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_attention(graph::OnnxNode& node);

}  // namespace lowtide::ops
