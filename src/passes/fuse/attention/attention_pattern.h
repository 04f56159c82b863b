// Attention as exporters write it out: products, a scale, masks, a softmax.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "ops/dropout/dropout.h"
#include "passes/dependence.h"

namespace lowtide::passes {

// dropout(softmax(scale q k + mask)) v with keys (N, H, D, S); all of rank 4, or of rank 3 without
// the heads.
struct AttentionPattern {
  graph::ValueId q;
  graph::ValueId k;
  graph::ValueId v;
  bool keys_swapped = true;  // whether k's last axes are (D, S)
  double scale = 1;
  bool causal = false;
  std::int64_t causal_offset = 0;
  graph::ValueId mask;  // added, or bools that choose between a score and `fill`
  bool mask_hides = false;
  double fill = 0;
  ops::Dropout dropout{.ratio = 0};
};

// The pattern that ends in the node, a product of weights and values; nothing where it is no such
// pattern, where something else reads what lies inside, or where the mask is learned.
std::optional<AttentionPattern> find_attention(const graph::Graph& graph,
                                               const Readers& readers,
                                               graph::NodeId product);

}  // namespace lowtide::passes
