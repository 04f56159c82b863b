#include "passes/fuse/numbers.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/evaluate.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace lowtide::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr std::size_t kMostNodes = 32;
constexpr std::int64_t kMostElements = std::int64_t{1} << 24U;

// The nodes that a value is computed by, in their order; nothing where more than constants go in.
std::optional<std::set<std::size_t>> constant_cone(const Graph& graph, ValueId id) {
  std::set<std::size_t> cone;
  std::vector<ValueId> open = {id};
  while (!open.empty()) {
    const graph::Value& value = graph.value(open.back());
    open.pop_back();
    if (value.type.shape.elements() > kMostElements) return std::nullopt;
    if (!value.producer.valid()) {
      if (value.role != graph::Role::kConstant) return std::nullopt;
      continue;
    }
    if (!cone.insert(value.producer.index()).second) continue;
    if (cone.size() > kMostNodes) return std::nullopt;
    const std::vector<ValueId>& inputs = graph.node(value.producer).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return cone;
}

}  // namespace

std::optional<graph::ConstantTensor> constant_tensor(const Graph& graph, ValueId id) {
  const auto cone = constant_cone(graph, id);
  if (!cone) return std::nullopt;
  std::map<ValueId, graph::ConstantTensor> computed;
  const auto tensor = [&](ValueId value) {
    const auto found = computed.find(value);
    return found != computed.end() ? found->second : graph::load_content(graph.value(value));
  };
  for (const std::size_t index : *cone) {
    const Node& node = graph.node(NodeId(index));
    std::vector<graph::ConstantTensor> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(tensor(input));
    auto outputs = graph::evaluate(*node.op, node.attrs, inputs, graph.types(node.outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      computed.emplace(node.outputs[i], std::move(outputs[i]));
    }
  }
  return tensor(id);
}

const Node* producer(const Graph& graph, ValueId id) {
  const NodeId node = graph.value(id).producer;
  return node.valid() ? &graph.node(node) : nullptr;
}

bool made_by(const Graph& graph, ValueId id, const graph::OpDef& op) {
  const Node* const node = producer(graph, id);
  return node != nullptr && node->op == &op;
}

std::optional<double> constant_number(const Graph& graph, ValueId id) {
  const graph::Value& value = graph.value(id);
  if (value.role != graph::Role::kConstant || value.type.shape.elements() != 1) {
    return std::nullopt;
  }
  const graph::ConstantTensor tensor = graph::load_content(value);
  return core::visit(tensor.type.dtype, [&](auto tag) {
    return static_cast<double>(*tensor.data<typename decltype(tag)::type>());
  });
}

std::optional<Scaled> scaled(const Graph& graph, ValueId id) {
  const Node* const node = producer(graph, id);
  if (node == nullptr) return std::nullopt;
  if (node->op == &ops::unary_op(ops::UnaryKind::kScale)) {
    return Scaled{node->inputs[0], node->attrs.as<ops::Unary>().alpha};
  }
  const bool times = node->op == &ops::binary_op(ops::BinaryKind::kMul);
  if (!times && node->op != &ops::binary_op(ops::BinaryKind::kDiv)) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const auto number = constant_number(graph, node->inputs[i]);
    const ValueId x = node->inputs[1 - i];
    if (!number || graph.type(x).shape != graph.type(id).shape || (!times && i == 0)) continue;
    return Scaled{x, times ? *number : 1 / *number};
  }
  return std::nullopt;
}

}  // namespace lowtide::passes
