// CenterCropPad: zeros added on both sides, or elements cut off on both, to given sizes.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_center_crop_pad(graph::OnnxNode& node);

}  // namespace lowtide::ops
