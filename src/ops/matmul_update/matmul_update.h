// A product that is the gradient of weights, and the optimizer step that uses it up.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "ops/matmul/matmul.h"
#include "ops/update/update.h"

namespace lowtide::ops {

// g = a' c; the sum of its squares; an optimizer step with g. The gradient lies in scratch, whole
// or `by_panels`: some rows at a time, each used up before the next are made. Both give the same
// bits.
struct MatMulUpdate {
  std::variant<SgdUpdate, AdamUpdate> update;
  bool by_panels = false;

  bool operator==(const MatMulUpdate&) const = default;
};

// a, c, then the inputs of the update without the gradient -> the sum of squares, then the outputs
// of the update.
const graph::OpDef& matmul_update_op();

// Which node does both, where a product's result goes into the sum of its squares and an update
// without clipping and nowhere else; nothing elsewhere. `readers` are the graph's.
struct MatMulUpdateMatch {
  graph::NodeId product;
  graph::NodeId sum;
  graph::Node node;  // stands for these two and the update
};
std::optional<MatMulUpdateMatch> match_matmul_update(
    const graph::Graph& graph,
    const core::IdVector<graph::ValueId, std::vector<graph::NodeId>>& readers,
    graph::NodeId update);

}  // namespace lowtide::ops
