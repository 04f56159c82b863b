// DepthToSpace and SpaceToDepth: blocks of positions as channels, and back, by transposing.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

// Which comes first among the channels that a block's positions become or come from.
enum class BlockOrder : std::uint8_t {
  kPositionFirst,  // ONNX's "DCR", and what SpaceToDepth does
  kChannelFirst,   // "CRD": a pixel shuffle
};

// (N, C, H, W) to (N, C / size^2, H size, W size), and back in kPositionFirst. Throw
// Error(kInvalidArgument) where the sizes do not divide.
graph::ValueId depth_to_space(graph::GraphBuilder& b,
                              graph::ValueId x,
                              std::int64_t size,
                              BlockOrder order);
graph::ValueId space_to_depth(graph::GraphBuilder& b, graph::ValueId x, std::int64_t size);

std::vector<graph::ValueId> read_depth_to_space(graph::OnnxNode& node);
std::vector<graph::ValueId> read_space_to_depth(graph::OnnxNode& node);

}  // namespace lowtide::ops
