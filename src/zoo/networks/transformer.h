// What GPT-2, BERT and ViT share: attention, feed-forward layers, and blocks of both. Activations
// are rows, (N sequence, width).
#pragma once

#include <cstdint>
#include <string>

#include "ops/unary/unary.h"
#include "zoo/network.h"

namespace lowtide::zoo {

struct Transformer {
  std::int64_t width = 0;
  std::int64_t heads = 1;
  std::int64_t sequence = 0;
  double epsilon = 1e-5;  // of layer norm
  Init weights = {};      // of every matrix
  Init residual = {};     // but of those whose output is added to the residual stream
  ops::UnaryKind activation = ops::UnaryKind::kGelu;
  // Added to the scores, which are (N, heads, sequence, sequence); invalid for none.
  graph::ValueId mask = {};
};

// Throws Error(kInvalidArgument) where the heads cannot share the width.
void check_heads(std::int64_t width, std::int64_t heads);

// x + attention(norm(x)), then x + feed_forward(norm(x)).
graph::ValueId pre_norm_block(Network& net,
                              const Transformer& shape,
                              const std::string& name,
                              graph::ValueId x);

// norm(x + attention(x)), then norm(x + feed_forward(x)).
graph::ValueId post_norm_block(Network& net,
                               const Transformer& shape,
                               const std::string& name,
                               graph::ValueId x);

// (N, sequence, ...) as rows, and the first row of each sample.
graph::ValueId rows(Network& net, graph::ValueId x);
graph::ValueId first_rows(Network& net, const Transformer& shape, graph::ValueId x);

}  // namespace lowtide::zoo
