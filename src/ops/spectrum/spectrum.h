// DFT and STFT as products with a matrix of sines and cosines: exact gradients, and cheap for the
// short frames of speech and audio networks. A complex number is two places along the last axis.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_dft(graph::OnnxNode& node);
std::vector<graph::ValueId> read_stft(graph::OnnxNode& node);

}  // namespace lowtide::ops
