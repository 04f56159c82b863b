// Pad: elements added around a tensor, or cut off it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

enum class PadMode : std::uint8_t {
  kConstant,  // `value`
  kReflect,   // mirrored at the border element, which is not repeated
  kEdge,      // the border element
  kWrap,      // from the other end
};

// How many elements to add before and after each axis; negative counts cut off.
struct Pad {
  PadMode mode = PadMode::kConstant;
  std::vector<std::int64_t> before;  // one per axis
  std::vector<std::int64_t> after;
  double value = 0;

  bool operator==(const Pad&) const = default;
};

// The result has x's layout; emits nothing where all counts are 0. Throws Error(kInvalidArgument)
// where the counts do not fit the shape, or a mode other than kConstant has nothing to repeat.
graph::ValueId pad(graph::GraphBuilder& b, graph::ValueId x, Pad attributes);

// Gathers the gradients of all copies of an element; `shape` is that of the padded tensor.
struct PadGradient {
  Pad pad;
  core::Shape shape;

  bool operator==(const PadGradient&) const = default;
};

const graph::OpDef& pad_op();
const graph::OpDef& pad_gradient_op();

}  // namespace lowtide::ops
