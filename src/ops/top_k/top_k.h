// TopK: the largest or smallest elements along an axis, and where they stand.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

// Along the last axis of a plain tensor.
struct TopK {
  std::int64_t k = 1;
  bool smallest = false;

  bool operator==(const TopK&) const = default;
};

// Both with `axis` (negative: from the back) of length k, sorted from the best; of equal elements
// the first is the better one, and a NaN is larger than any number. Indices are int64. A gradient
// passes through the values.
struct TopKValues {
  graph::ValueId values;
  graph::ValueId indices;
};
TopKValues top_k(graph::GraphBuilder& b, graph::ValueId x, std::int64_t axis, const TopK& a);

const graph::OpDef& top_k_op();

}  // namespace lowtide::ops
