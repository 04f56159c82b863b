// Col2Im: blocks of an image laid back in their places, and added where they overlap.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_col2im(graph::OnnxNode& node);

}  // namespace lowtide::ops
