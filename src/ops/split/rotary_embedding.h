// RotaryEmbedding: pairs of features turned by angles that depend on the position.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

struct RotaryEmbedding {
  bool interleaved = false;   // a pair is two neighbours, else one of each half
  std::int64_t features = 0;  // how many of each head are turned; 0: all
};

// x is (samples, positions, heads, features); cosines and sines are (samples, positions, pairs).
graph::ValueId rotary_embedding(graph::GraphBuilder& b,
                                graph::ValueId x,
                                graph::ValueId cosines,
                                graph::ValueId sines,
                                const RotaryEmbedding& a);

std::vector<graph::ValueId> read_rotary_embedding(graph::OnnxNode& node);

}  // namespace lowtide::ops
