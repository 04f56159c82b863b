// What comes down to choosing between two values: ThresholdedRelu, Shrink, OneHot, products without
// one of their factors.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

// `on` where an index (of any integer type; negative: from the back) names the place along the new
// axis `axis` of length `depth`, else `off`; both have one element. An index outside names none.
graph::ValueId one_hot(graph::GraphBuilder& b,
                       graph::ValueId indices,
                       std::int64_t depth,
                       graph::ValueId off,
                       graph::ValueId on,
                       std::int64_t axis);

// For the gradients of products, which must not divide by zero: 1 where x is 0, else 0; and x with
// its zeros replaced by ones.
graph::ValueId zero_marks(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId zeros_as_ones(graph::GraphBuilder& b, graph::ValueId x);
// The product of all factors but x, given (of x's shape, or to be broadcast to it) how many factors
// are 0, and the product of the others.
graph::ValueId other_factors(graph::GraphBuilder& b,
                             graph::ValueId x,
                             graph::ValueId zero_count,
                             graph::ValueId product);

std::vector<graph::ValueId> read_thresholded_relu(graph::OnnxNode& node);
std::vector<graph::ValueId> read_shrink(graph::OnnxNode& node);
std::vector<graph::ValueId> read_one_hot(graph::OnnxNode& node);

}  // namespace lowtide::ops
