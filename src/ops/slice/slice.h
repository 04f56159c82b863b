// Slice: every step-th place between two ends along some axes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"
#include "ops/movement.h"

namespace lowtide::ops {

// As ONNX writes it: negative places count from the back, ends beyond the tensor are cut to it,
// steps may be negative. Empty `axes` are the first ones, empty `steps` all 1.
struct Slice {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes = {};
  std::vector<std::int64_t> steps = {};

  bool operator==(const Slice&) const = default;
};

// The result has x's layout; emits nothing where it is all of x. Throws Error(kInvalidArgument) for
// lists of unequal length, a repeated axis and a step of 0.
graph::ValueId slice(graph::GraphBuilder& b, graph::ValueId x, Slice attributes);

// The sliced part of a tensor of that type.
View view_of_slice(const Slice& a, const core::TensorType& type);

// Puts a slice's gradient back in its place among zeros; `shape` is that of the sliced tensor.
struct SliceGradient {
  Slice slice;
  core::Shape shape;

  bool operator==(const SliceGradient&) const = default;
};

const graph::OpDef& slice_op();
const graph::OpDef& slice_gradient_op();

}  // namespace lowtide::ops
