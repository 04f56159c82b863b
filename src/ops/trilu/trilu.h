// Trilu: the upper or lower triangle of matrices, zeros elsewhere.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

enum class Triangle : std::uint8_t { kUpper, kLower };

// Keeps the elements on the k-th diagonal (0 the main one, positive ones above it) and above or
// below it, in the matrices that the last two axes make.
struct Trilu {
  Triangle keep = Triangle::kUpper;
  std::int64_t diagonal = 0;

  bool operator==(const Trilu&) const = default;
};

// Any dtype, rank >= 2; channels-last input is brought to the plain layout first.
graph::ValueId trilu(graph::GraphBuilder& b, graph::ValueId x, Trilu attributes);

const graph::OpDef& trilu_op();

}  // namespace lowtide::ops
