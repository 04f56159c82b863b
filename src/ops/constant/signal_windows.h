// Windows of signal processing (HannWindow, HammingWindow, BlackmanWindow), and EyeLike: constants
// once sizes are known.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_signal_window(graph::OnnxNode& node);
std::vector<graph::ValueId> read_eye_like(graph::OnnxNode& node);

}  // namespace lowtide::ops
