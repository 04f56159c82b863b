// Tile: a tensor repeated as a whole along each axis.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

struct Tile {
  std::vector<std::int64_t> repeats;  // one per axis

  bool operator==(const Tile&) const = default;
};

// Keeps x's layout; emits nothing where every count is 1. Throws Error(kInvalidArgument) for
// negative counts and another number of counts than axes.
graph::ValueId tile(graph::GraphBuilder& b, graph::ValueId x, std::vector<std::int64_t> repeats);

const graph::OpDef& tile_op();

}  // namespace lowtide::ops
