#include "graph/graph.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace lowtide::graph {

using core::text;

std::optional<ValueId> Graph::find(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[ValueId(i)].name == name) return ValueId(i);
  }
  return std::nullopt;
}

std::vector<TensorType> Graph::types(const std::vector<ValueId>& ids) const {
  std::vector<TensorType> result;
  result.reserve(ids.size());
  for (const ValueId id : ids) result.push_back(type(id));
  return result;
}

void Graph::keep_nodes(const std::vector<NodeId>& order) {
  for (Value& value : values_) value.producer = NodeId();
  core::IdVector<NodeId, Node> kept;
  for (const NodeId old : order) {
    const NodeId id = kept.push_back(std::move(nodes_[old]));
    for (const ValueId output : kept[id].outputs) values_[output].producer = id;
  }
  nodes_ = std::move(kept);
}

core::IdVector<ValueId, std::vector<NodeId>> readers(const Graph& graph) {
  core::IdVector<ValueId, std::vector<NodeId>> result(graph.value_count());
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId input : graph.node(NodeId(i)).inputs) {
      std::vector<NodeId>& nodes = result[input];
      if (nodes.empty() || nodes.back() != NodeId(i)) nodes.emplace_back(i);
    }
  }
  return result;
}

namespace {

void verify_alternative(const Graph& graph, NodeId id, std::vector<std::string>& faults) {
  const Node& node = graph.node(id);
  const Node& other = graph.node(node.alternative_to);
  const bool behind_loss = node.phase == Phase::kBackward || node.phase == Phase::kUpdate;
  if (node.alternative_to >= id || other.alternative_to.valid() || other.outputs != node.outputs ||
      !behind_loss || other.phase != node.phase) {
    faults.push_back(text("node '{}' is no alternative to the one it names", node.name));
  }
}

void verify_node(const Graph& graph,
                 NodeId id,
                 std::vector<bool>& written,
                 std::vector<std::string>& faults) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs) {
    if (!written[input.index()]) {
      faults.push_back(
          text("node '{}' reads '{}' before it is written", node.name, graph.value(input).name));
    }
  }
  if (node.alternative_to.valid()) {
    verify_alternative(graph, id, faults);
  } else {
    for (const ValueId output : node.outputs) {
      if (written[output.index()]) {
        faults.push_back(text("value '{}' is written twice", graph.value(output).name));
      }
      if (graph.value(output).producer != id) {
        faults.push_back(text("value '{}' does not name its producer", graph.value(output).name));
      }
      written[output.index()] = true;
    }
  }
  if (node.op->infer(node.attrs, graph.types(node.inputs)) != graph.types(node.outputs)) {
    faults.push_back(
        text("node '{}' ({}) has output types its op does not infer", node.name, node.op->name()));
  }
}

void verify_state(const Graph& graph, std::vector<std::string>& faults) {
  std::vector<bool> replaced(graph.value_count(), false);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& next = graph.value(ValueId(i));
    if (!next.previous_version.valid()) continue;
    const Value& old = graph.value(next.previous_version);
    if (replaced[next.previous_version.index()]) {
      faults.push_back(text("state '{}' is replaced twice", old.name));
    }
    replaced[next.previous_version.index()] = true;
    if (!is_state(old.role) || old.type != next.type) {
      faults.push_back(text("'{}' cannot be the new version of '{}'", next.name, old.name));
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Graph& graph) {
  std::vector<std::string> faults;
  std::vector<bool> written(graph.value_count(), false);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    written[i] =
        !value.producer.valid() &&
        (is_persistent(value.role) || value.role == Role::kInput || value.role == Role::kScalar);
  }
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    verify_node(graph, NodeId(i), written, faults);
  }
  for (const ValueId output : graph.outputs()) {
    if (!written[output.index()]) {
      faults.push_back(text("output '{}' is never written", graph.value(output).name));
    }
  }
  verify_state(graph, faults);
  return faults;
}

std::string dump(const Graph& graph) {
  std::string result;
  const auto names = [&](const std::vector<ValueId>& ids, bool with_type) {
    std::vector<std::string> parts;
    parts.reserve(ids.size());
    for (const ValueId id : ids) {
      parts.push_back(with_type ? text("%{}: {}", id.index(), graph.type(id).str())
                                : text("%{}", id.index()));
    }
    return text("{}", fmt::join(parts, ", "));
  };
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    result += text("{} {} {}({})  # {}\n", names(node.outputs, true),
                   node.alternative_to.valid() ? "or" : "=", node.op->name(),
                   names(node.inputs, false), node.name);
  }
  return result;
}

}  // namespace lowtide::graph
