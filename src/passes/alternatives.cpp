#include "passes/alternatives.h"

#include <optional>
#include <utility>

#include "ops/normed_conv_gradient/normed_conv_gradient.h"

namespace lowtide::passes {

void offer_alternatives(graph::Graph& graph) {
  const std::size_t count = graph.node_count();
  for (std::size_t i = 0; i < count; ++i) {
    const graph::NodeId id(i);
    std::optional<graph::Node> other = ops::normed_conv_gradient(graph, graph.node(id));
    if (!other) continue;
    other->alternative_to = id;
    graph.add_node(std::move(*other));
  }
}

}  // namespace lowtide::passes
