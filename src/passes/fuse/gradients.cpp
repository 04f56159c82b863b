#include "passes/fuse/gradients.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ops/conv_max_pool/conv_max_pool.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"
#include "passes/dependence.h"

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What a node and the one that makes its input `input` do together, where `both` knows.
struct Rule {
  std::size_t input;
  std::optional<Node> (*both)(const Graph&, const Node& producer, const Node& node);
};

constexpr std::array kRules = {Rule{.input = 0, .both = ops::split_conv_transpose},
                               Rule{.input = 1, .both = ops::rectified_input_gradient}};

// Has the node that makes an input of this one do the work of both. Says whether there is such.
bool join_producer(Graph& graph, const Readers& readers, const Node& node) {
  for (const Rule& rule : kRules) {
    if (node.inputs.size() <= rule.input) continue;
    const ValueId between = node.inputs[rule.input];
    const NodeId producer = graph.value(between).producer;
    if (!producer.valid() || !read_only_by(graph, readers, between)) continue;
    std::optional<Node> both = rule.both(graph, graph.node(producer), node);
    if (!both) continue;
    graph.node(producer) = std::move(*both);
    return true;
  }
  return false;
}

}  // namespace

void fuse_gradients(Graph& graph) {
  const Readers readers = graph::readers(graph);
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id(i);
    const Node& node = graph.node(id);
    const bool joined =
        node.phase == graph::Phase::kBackward && join_producer(graph, readers, node);
    if (!joined) kept.push_back(id);
  }
  if (kept.size() < graph.node_count()) graph.keep_nodes(kept);
}

}  // namespace lowtide::passes
