// ArgMax and ArgMin: where along an axis the largest or smallest element stands.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct ArgMax {
  std::size_t axis = 0;
  bool smallest = false;  // ArgMin
  bool last = false;      // of equal elements take the last one, not the first

  bool operator==(const ArgMax&) const = default;
};

// Plain tensors of numbers; the axis is kept with length 1, the result is int64. A NaN counts as
// larger (for ArgMin, smaller) than every number.
const graph::OpDef& arg_max_op();

// The same with the axis dropped, along any axis (negative: from the back). Throws
// Error(kInvalidArgument) where it has no elements.
graph::ValueId arg_max(graph::GraphBuilder& b, graph::ValueId x, std::int64_t axis);

}  // namespace lowtide::ops
