// ReverseSequence and MaxUnpool: reading and writing at computed places.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// x with the first lengths[i] places along `time_axis` of its i-th part along `batch_axis` in
// reverse; the axes are the first two.
graph::ValueId reverse_sequence(graph::GraphBuilder& b,
                                graph::ValueId x,
                                graph::ValueId lengths,
                                std::size_t time_axis);

std::vector<graph::ValueId> read_reverse_sequence(graph::OnnxNode& node);
std::vector<graph::ValueId> read_max_unpool(graph::OnnxNode& node);

}  // namespace lowtide::ops
