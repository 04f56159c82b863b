// Concat: tensors joined along one axis.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

struct Concat {
  std::size_t axis = 0;

  bool operator==(const Concat&) const = default;
};

// At least one value; all of one dtype, with equal dimensions except along `axis` (negative ones
// count from the back). Where any value is channels-last all are brought there, and so is the
// result. A single value comes back as it is.
graph::ValueId concat(graph::GraphBuilder& b,
                      std::vector<graph::ValueId> values,
                      std::int64_t axis);

const graph::OpDef& concat_op();

}  // namespace lowtide::ops
