// LpPool: the p-norm of windows.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_lp_pool(graph::OnnxNode& node);

}  // namespace lowtide::ops
