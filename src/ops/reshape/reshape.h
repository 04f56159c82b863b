// Reshape and its relatives (Flatten, Squeeze, Unsqueeze): the same elements under another shape.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// `target` as ONNX writes it: -1 (at most once) is what is left over, 0 copies the input's
// dimension unless allow_zero. Kept unresolved so that a written file still takes any batch.
struct Reshape {
  std::vector<std::int64_t> target;
  bool allow_zero = false;

  bool operator==(const Reshape&) const = default;
};

// A view: no work at run time. Channels-last input is brought to the plain layout first; emits
// nothing where the shape stays the same.
graph::ValueId reshape(graph::GraphBuilder& b, graph::ValueId x, const core::Shape& shape);
graph::ValueId reshape(graph::GraphBuilder& b, graph::ValueId x, Reshape attributes);

const graph::OpDef& reshape_op();

}  // namespace lowtide::ops
