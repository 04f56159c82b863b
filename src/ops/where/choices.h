// What comes down to choosing between two values: ThresholdedRelu, Shrink, OneHot.
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

std::vector<graph::ValueId> read_thresholded_relu(graph::OnnxNode& node);
std::vector<graph::ValueId> read_shrink(graph::OnnxNode& node);
std::vector<graph::ValueId> read_one_hot(graph::OnnxNode& node);

}  // namespace lowtide::ops
