// Split: a tensor cut along one axis; the opposite of Concat.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// Output i takes the next lengths[i] places along the axis.
struct Split {
  std::size_t axis = 0;
  std::vector<std::int64_t> lengths;

  bool operator==(const Split&) const = default;
};

// The parts, in x's layout. Throws Error(kInvalidArgument) where the lengths do not add up to x's
// dimension. A single part is x itself.
std::vector<graph::ValueId> split(graph::GraphBuilder& b,
                                  graph::ValueId x,
                                  std::int64_t axis,
                                  std::vector<std::int64_t> lengths);

const graph::OpDef& split_op();

}  // namespace lowtide::ops
