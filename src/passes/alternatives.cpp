#include "passes/alternatives.h"

#include <optional>
#include <utility>

#include "ops/concat/concat.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"

namespace lowtide::passes {

namespace {

// In blocks of layers that all read what those before them made, what the norms behind the
// concatenations make grows with the square of the block's depth.
bool behind_concatenation(const graph::Graph& graph, const graph::Node& gradient) {
  const graph::NodeId producer = graph.value(gradient.inputs[0]).producer;
  return producer.valid() && graph.node(producer).op == &ops::concat_op();
}

}  // namespace

void offer_alternatives(graph::Graph& graph) {
  const std::size_t count = graph.node_count();
  for (std::size_t i = 0; i < count; ++i) {
    const graph::NodeId id(i);
    std::optional<graph::Node> other = ops::normed_conv_gradient(graph, graph.node(id));
    if (!other) continue;
    if (behind_concatenation(graph, *other)) {
      other->name = graph.node(id).name;
      graph.node(id) = std::move(*other);
      continue;
    }
    other->alternative_to = id;
    graph.add_node(std::move(*other));
  }
}

}  // namespace lowtide::passes
