#include "autodiff/differentiate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "graph/unread.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"

namespace lowtide::autodiff {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::Phase;

// Which values depend on one of `wrt`.
std::vector<bool> dependents(const Graph& graph, std::span<const ValueId> wrt) {
  std::vector<bool> depends(graph.value_count(), false);
  for (const ValueId id : wrt) depends[id.index()] = true;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId id) { return depends[id.index()]; })) {
      for (const ValueId output : node.outputs) depends[output.index()] = true;
    }
  }
  return depends;
}

class Sweep {
 public:
  Sweep(GraphBuilder& builder, std::span<const Seed> seeds, std::span<const ValueId> wrt)
      : builder_(builder),
        depends_(dependents(builder.graph(), wrt)),
        gradients_(builder.graph().value_count()),
        is_root_(builder.graph().value_count(), false) {
    for (const Seed& seed : seeds) {
      if (seed.gradient.valid()) {
        contribute(seed.output, seed.gradient);
      } else {
        is_root_[seed.output.index()] = true;
      }
    }
  }

  // Visits one node after all its readers; emits the gradients of its inputs.
  void visit(NodeId id) {
    const Node node = builder_.graph().node(id);
    std::vector<ValueId> out_gradients;
    bool reached = false;
    for (const ValueId output : node.outputs) {
      out_gradients.push_back(gradients_[output.index()]);
      reached = reached || out_gradients.back().valid() || is_root_[output.index()];
    }
    std::vector<bool> needed;
    for (const ValueId input : node.inputs) {
      needed.push_back(depends_[input.index()] && core::is_float(builder_.type(input).dtype));
    }
    if (!reached || std::none_of(needed.begin(), needed.end(), [](bool need) { return need; })) {
      return;
    }
    if (!node.op->differentiable()) {
      throw core::fail(ErrorCode::kUnsupported,
                       "node '{}': no gradient passes {}; freeze what lies before it", node.name,
                       node.op->name());
    }
    builder_.set_scope(node.name);
    graph::GradientContext context(builder_, node, std::move(out_gradients), needed);
    const graph::InputGradients gradients = node.op->gradient(node.attrs, context);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].valid() && needed.at(i)) contribute(node.inputs[i], gradients[i]);
    }
  }

  [[nodiscard]] ValueId gradient(ValueId id) const { return gradients_[id.index()]; }

 private:
  void contribute(ValueId to, ValueId gradient) {
    const core::TensorType type = builder_.type(to);
    gradient = ops::to_layout(builder_, gradient, type.layout);
    LT_CHECK(builder_.type(gradient) == type, "a gradient has the type of its value");
    ValueId& sum = gradients_[to.index()];
    sum = sum.valid() ? ops::add_gradient(builder_, sum, gradient) : gradient;
  }

  GraphBuilder& builder_;
  std::vector<bool> depends_;
  std::vector<ValueId> gradients_;
  std::vector<bool> is_root_;
};

// Puts forward nodes that stand at or after `first_new` directly behind the producers of their
// inputs.
void hoist_saves(Graph& graph, std::size_t first_new) {
  // Each node's sort key: the old node it follows, then its own position.
  std::vector<std::pair<std::size_t, std::size_t>> keys(graph.node_count());
  bool any = false;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    keys[i] = {i, i};
    const Node& node = graph.node(NodeId(i));
    if (i < first_new || node.phase != Phase::kForward) continue;
    any = true;
    std::size_t after = 0;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer.valid()) after = std::max(after, keys[producer.index()].first);
    }
    keys[i].first = after;
  }
  if (!any) return;
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < graph.node_count(); ++i) order.emplace_back(i);
  std::sort(order.begin(), order.end(),
            [&](NodeId a, NodeId b) { return keys[a.index()] < keys[b.index()]; });
  graph.keep_nodes(order);
}

}  // namespace

std::vector<ValueId> differentiate(GraphBuilder& builder,
                                   std::span<const Seed> seeds,
                                   std::span<const ValueId> wrt) {
  const std::size_t forward_nodes = builder.graph().node_count();
  const Phase phase = builder.phase();
  const std::string scope = builder.scope();
  builder.set_phase(Phase::kBackward);
  Sweep sweep(builder, seeds, wrt);
  for (std::size_t i = forward_nodes; i-- > 0;) sweep.visit(NodeId(i));
  std::vector<ValueId> result;
  for (const ValueId id : wrt) result.push_back(sweep.gradient(id));
  builder.set_phase(phase);
  builder.set_scope(scope);
  // Rules may have read past a sum of gradients to its parts.
  graph::drop_unread(builder.graph(), forward_nodes, result);
  hoist_saves(builder.graph(), forward_nodes);
  return result;
}

}  // namespace lowtide::autodiff
