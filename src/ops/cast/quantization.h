// Quantized numbers as ONNX has them: an integer q stands for (q - zero point) * scale. Made of
// casts and arithmetic; products of integers are taken in float64, where they are exact.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_quantize(graph::OnnxNode& node);
std::vector<graph::ValueId> read_dequantize(graph::OnnxNode& node);
std::vector<graph::ValueId> read_dynamic_quantize(graph::OnnxNode& node);
std::vector<graph::ValueId> read_matmul_integer(graph::OnnxNode& node);
std::vector<graph::ValueId> read_quantized_matmul(graph::OnnxNode& node);
std::vector<graph::ValueId> read_conv_integer(graph::OnnxNode& node);
std::vector<graph::ValueId> read_quantized_conv(graph::OnnxNode& node);

}  // namespace lowtide::ops
