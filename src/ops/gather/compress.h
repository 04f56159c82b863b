// Compress: the places along an axis, or of the flattened tensor, where a constant condition holds.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_compress(graph::OnnxNode& node);

}  // namespace lowtide::ops
