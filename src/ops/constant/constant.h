// Values that depend on no data: tensors of one repeated element, and the ONNX ops whose results
// are known once shapes are (ConstantOfShape, Shape, Size, Range).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// A tensor of the given type in which every element has the same bytes (at the front of `element`).
struct Fill {
  core::TensorType type;
  std::array<std::byte, 8> element{};

  bool operator==(const Fill&) const = default;
};

// Every element is `value`, converted to the dtype. A node without inputs: it takes memory only
// while it is read, unlike a constant.
graph::ValueId fill(graph::GraphBuilder& b, core::TensorType type, double value);
graph::ValueId zeros(graph::GraphBuilder& b, core::TensorType type);

// A constant of rank 0, and one of that shape; numbers are converted to the dtype.
graph::ValueId scalar(graph::GraphBuilder& b, core::DType dtype, double value);
graph::ValueId numbers(graph::GraphBuilder& b,
                       core::DType dtype,
                       const core::Shape& shape,
                       const std::vector<double>& values);

// A constant input of one element, of any numeric type. Throws Error(kInvalidFile) for others.
double constant_number(graph::OnnxNode& node, std::size_t input);

const graph::OpDef& fill_op();

}  // namespace lowtide::ops
