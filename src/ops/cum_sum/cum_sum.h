// CumSum: running sums along one axis.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct CumSum {
  std::size_t axis = 0;
  bool exclusive = false;  // an element is no part of the sum at its place
  bool reverse = false;    // sums run from the end

  bool operator==(const CumSum&) const = default;
};

// Floats and integers, of rank 1 or more; `axis` may count from the back. Channels-last input is
// brought to the plain layout first.
graph::ValueId cum_sum(graph::GraphBuilder& b,
                       graph::ValueId x,
                       std::int64_t axis,
                       bool exclusive = false,
                       bool reverse = false);

const graph::OpDef& cum_sum_op();

}  // namespace lowtide::ops
