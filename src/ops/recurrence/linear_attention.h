// LinearAttention: attention whose memory is one matrix a head, updated token by token; unrolled.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_linear_attention(graph::OnnxNode& node);

}  // namespace lowtide::ops
