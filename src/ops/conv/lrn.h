// LRN: local response normalisation across channels, as the first convolutional networks have it.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

struct Lrn {
  std::int64_t size = 5;  // channels: half of the others before, half (the more) behind
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;
};

// x / (bias + alpha / size * sum of squares over the neighbouring channels)^beta; channels-last.
// The sums are a convolution with a band of equal weights.
graph::ValueId lrn(graph::GraphBuilder& b, graph::ValueId x, const Lrn& a);

std::vector<graph::ValueId> read_lrn(graph::OnnxNode& node);

}  // namespace lowtide::ops
