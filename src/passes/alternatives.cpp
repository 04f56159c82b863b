#include "passes/alternatives.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/concat/concat.h"
#include "ops/joined_conv_gradient/joined_conv_gradient.h"
#include "ops/matmul_update/matmul_update.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"

namespace lowtide::passes {

namespace {

using graph::NodeId;

// In blocks of layers that all read what those before them made, what the norms behind the
// concatenations make grows with the square of the block's depth.
bool behind_concatenation(const graph::Graph& graph, const graph::Node& gradient) {
  const NodeId producer = graph.value(gradient.inputs[0]).producer;
  return producer.valid() && graph.node(producer).op == &ops::concat_op();
}

// Gradients of convolution weights that normalise what they read.
void offer_normed_gradients(graph::Graph& graph) {
  const std::size_t count = graph.node_count();
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id(i);
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

// Beside each node the one that does the same another way, where `other_way` knows one.
void offer(graph::Graph& graph,
           std::optional<graph::Node> (*other_way)(const graph::Graph&, const graph::Node&)) {
  const std::size_t count = graph.node_count();
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<graph::Node> other = other_way(graph, graph.node(NodeId(i)));
    if (!other) continue;
    other->alternative_to = NodeId(i);
    graph.add_node(std::move(*other));
  }
}

// Makes one node of the product that is the gradient of large weights and of their update, and has
// it stand where the update stood.
void join_large_updates(graph::Graph& graph) {
  constexpr Bytes kLarge(std::int64_t{32} << 20U);
  const auto readers = graph::readers(graph);
  core::IdVector<NodeId, char> joined(graph.node_count(), 0);
  bool any = false;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id(i);
    if (graph.node(id).phase != graph::Phase::kUpdate) continue;
    auto match = ops::match_matmul_update(graph, readers, id);
    if (!match || graph.type(match->node.inputs[2]).bytes() < kLarge) continue;
    graph.node(id) = std::move(match->node);
    joined[match->product] = joined[match->sum] = 1;
    any = true;
  }
  if (!any) return;
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    if (joined[NodeId(i)] == 0) kept.emplace_back(i);
  }
  graph.keep_nodes(kept);
}

std::optional<graph::Node> update_by_panels(const graph::Graph& /*graph*/,
                                            const graph::Node& node) {
  if (node.op != &ops::matmul_update_op()) return std::nullopt;
  graph::Node other = node;
  auto attributes = other.attrs.as<ops::MatMulUpdate>();
  attributes.by_panels = true;
  other.attrs = graph::Attrs::of(std::move(attributes));
  other.name += " (by panels)";
  return other;
}

}  // namespace

void offer_alternatives(graph::Graph& graph) {
  join_large_updates(graph);
  offer_normed_gradients(graph);
  offer(graph, ops::joined_conv_gradient);
  offer(graph, update_by_panels);
}

}  // namespace lowtide::passes
