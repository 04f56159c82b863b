// Softmax and LogSoftmax along one axis.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

// y = exp(x - max x) / sum exp(x - max x) along `axis`, or its logarithm.
struct Softmax {
  std::size_t axis = 0;
  bool log = false;

  bool operator==(const Softmax&) const = default;
};

// Any float tensor of rank >= 1; negative axes count from the back. Channels-last input is brought
// to the plain layout first.
graph::ValueId softmax(graph::GraphBuilder& b, graph::ValueId x, std::int64_t axis);
graph::ValueId log_softmax(graph::GraphBuilder& b, graph::ValueId x, std::int64_t axis);

// Two dimensions, those before `axis` and the others: whose rows were normalised before opset 13.
graph::ValueId flattened_at(graph::GraphBuilder& b, graph::ValueId x, std::int64_t axis);

const graph::OpDef& softmax_op();
const graph::OpDef& softmax_gradient_op();

}  // namespace lowtide::ops
