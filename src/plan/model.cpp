#include "plan/model.h"

#include <algorithm>

#include "core/check.h"

namespace lowtide::plan {

namespace {

using graph::Graph;
using graph::Node;
using graph::Phase;
using graph::Repeat;
using graph::Role;
using graph::Sharing;
using graph::Value;

// Marks the nodes that outputs or state depend on, and finds their alternatives. The graph's order
// is an order of evaluation, so one walk from its end sees every reader before the producer.
void mark_needed(Model& model) {
  const Graph& graph = model.graph;
  core::IdVector<ValueId, char> wanted(graph.value_count(), 0);
  for (const ValueId output : graph.outputs()) wanted[output] = 1;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.node(NodeId(i));
    if (node.alternative_to.valid()) continue;
    const bool needed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return wanted[id] != 0 || graph.value(id).previous_version.valid();
    });
    model.nodes[NodeId(i)].needed = needed;
    if (!needed) continue;
    for (const ValueId input : node.inputs) wanted[input] = 1;
  }
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (!node.alternative_to.valid() || !model.nodes[node.alternative_to].needed) continue;
    if (std::all_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId input) { return wanted[input] != 0; })) {
      model.nodes[node.alternative_to].alternatives.emplace_back(i);
    }
  }
}

void read_values(Model& model) {
  const Graph& graph = model.graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    ValueFacts& facts = model.values[ValueId(i)];
    facts.bytes = value.type.bytes().rounded_up(kAlignment);
    facts.producer = value.producer;
    facts.base = ValueId(i);
    facts.pinned = value.role == Role::kScalar && !value.producer.valid();
    if (graph::is_persistent(value.role) && !value.producer.valid()) facts.home = ValueId(i);
  }
  for (const ValueId output : graph.outputs()) model.values[output].pinned = true;
}

// Follows views and state versions back to the storage they stand for.
void read_node(Model& model, NodeId id, const NodeCost& cost) {
  const Graph& graph = model.graph;
  const Node& node = graph.node(id);
  NodeFacts& facts = model.nodes[id];
  const std::vector<graph::TensorType> in = graph.types(node.inputs);
  const std::vector<graph::TensorType> out = graph.types(node.outputs);
  facts.aliases = node.op->aliases(node.attrs, {in, out});
  facts.seconds = cost.seconds;
  facts.scratch = cost.scratch.rounded_up(kAlignment);
  for (const graph::Alias& alias : facts.aliases) {
    if (alias.sharing != Sharing::kView) continue;
    const ValueFacts& input = model.values[node.inputs[static_cast<std::size_t>(alias.input)]];
    ValueFacts& output = model.values[node.outputs[static_cast<std::size_t>(alias.output)]];
    output.base = input.base;
    output.home = input.home;
  }
  for (const ValueId output : node.outputs) {
    const ValueId old = graph.value(output).previous_version;
    if (old.valid()) model.values[output].home = model.values[old].home;
  }
}

// A node is eager if it belongs to the update phase and only eager nodes read what it writes.
void mark_eager(Model& model) {
  const Graph& graph = model.graph;
  core::IdVector<ValueId, char> read_early(graph.value_count(), 0);
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.node(NodeId(i));
    NodeFacts& facts = model.nodes[NodeId(i)];
    if (!facts.needed) continue;
    facts.eager = node.phase == Phase::kUpdate &&
                  std::none_of(node.outputs.begin(), node.outputs.end(),
                               [&](ValueId id) { return read_early[id] != 0; });
    if (facts.eager) continue;
    for (const ValueId input : read_in_any_way(model, NodeId(i))) read_early[input] = 1;
  }
}

// A node may run again if its card and phase allow, it changes no state, and every state version
// it reads is replaced by eager nodes only: those wait for the last repetition.
void mark_repeatable(Model& model) {
  const Graph& graph = model.graph;
  core::IdVector<ValueId, char> replaced_early(graph.value_count(), 0);
  for (const NodeId id : model.order) {
    for (const ValueId output : graph.node(id).outputs) {
      const ValueId old = graph.value(output).previous_version;
      if (old.valid()) replaced_early[old] = 1;
    }
  }
  for (const NodeId id : model.order) {
    const Node& node = graph.node(id);
    model.nodes[id].repeatable =
        node.phase == Phase::kForward && node.op->repeat() == Repeat::kExact &&
        std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return graph.value(v).previous_version.valid(); }) &&
        std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return replaced_early[model.values[v].base] != 0; });
  }
}

// Lists the values that exist before step 0 and that the plan must place.
void list_sources(Model& model) {
  const Graph& graph = model.graph;
  core::IdVector<ValueId, char> listed(graph.value_count(), 0);
  const auto list = [&](ValueId id) {
    const ValueFacts& facts = model.values[id];
    const ValueId source = facts.home.valid() ? facts.home : id;
    if (model.values[source].producer.valid() || listed[source] != 0) return;
    listed[source] = 1;
    (facts.home.valid() ? model.persistent : model.inputs).push_back(source);
  };
  for (const ValueId id : graph.inputs()) list(id);
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    if (!model.nodes[NodeId(i)].needed) continue;
    for (const ValueId id : graph.node(NodeId(i)).inputs) list(id);
  }
  for (const ValueId id : graph.outputs()) list(id);
}

}  // namespace

std::vector<ValueId> read_in_any_way(const Model& model, NodeId id) {
  std::vector<ValueId> values = model.graph.node(id).inputs;
  for (const NodeId other : model.nodes[id].alternatives) {
    const std::vector<ValueId>& inputs = model.graph.node(other).inputs;
    values.insert(values.end(), inputs.begin(), inputs.end());
  }
  return values;
}

Model read_model(const Graph& graph, const Costs& costs) {
  LT_CHECK(costs.size() == graph.node_count(), "one cost per node");
  Model model{.graph = graph,
              .values = core::IdVector<ValueId, ValueFacts>(graph.value_count()),
              .nodes = core::IdVector<NodeId, NodeFacts>(graph.node_count()),
              .inputs = {},
              .persistent = {},
              .order = {},
              .eager = {}};
  read_values(model);
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    read_node(model, NodeId(i), costs[NodeId(i)]);
  }
  mark_needed(model);
  mark_eager(model);
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeFacts& facts = model.nodes[NodeId(i)];
    if (facts.needed) (facts.eager ? model.eager : model.order).emplace_back(i);
  }
  mark_repeatable(model);
  list_sources(model);
  return model;
}

}  // namespace lowtide::plan
