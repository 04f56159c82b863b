// Expand: a tensor repeated along axes of length 1.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// The result has the shape that numpy's broadcasting of the input with `target` gives, so target
// dimensions of 1 leave the input's.
struct Expand {
  std::vector<std::int64_t> target;

  bool operator==(const Expand&) const = default;
};

// Keeps x's layout where the rank stays; emits nothing where the shape stays. Throws
// Error(kInvalidArgument) where the shapes do not broadcast.
graph::ValueId expand(graph::GraphBuilder& b, graph::ValueId x, const core::Shape& shape);

const graph::OpDef& expand_op();

}  // namespace lowtide::ops
