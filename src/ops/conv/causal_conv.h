// CausalConvWithState: a depthwise convolution along the last axis that looks back only, and hands
// on what the next stretch has to look back at.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_causal_conv(graph::OnnxNode& node);

}  // namespace lowtide::ops
