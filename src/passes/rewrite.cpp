#include "passes/rewrite.h"

#include <utility>

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::Value;
using graph::ValueId;

std::vector<ValueId> mapped(const core::IdVector<ValueId, ValueId>& to,
                            const std::vector<ValueId>& ids) {
  std::vector<ValueId> result;
  result.reserve(ids.size());
  for (const ValueId id : ids) result.push_back(to[id]);
  return result;
}

}  // namespace

Rewritten chained(const Rewritten& first, Rewritten second) {
  core::IdVector<ValueId, ValueId> to;
  to.resize(first.to.size());
  for (std::size_t i = 0; i < first.to.size(); ++i) {
    const ValueId between = first.to[ValueId(i)];
    if (between.valid()) to[ValueId(i)] = second.to[between];
  }
  second.to = std::move(to);
  return second;
}

Rewritten rewrite(const Graph& old, const ReplaceFn& replace) {
  Rewritten result;
  result.to.resize(old.value_count());
  GraphBuilder builder(result.graph);
  for (std::size_t i = 0; i < old.value_count(); ++i) {
    const Value& value = old.value(ValueId(i));
    if (!value.producer.valid()) result.to[ValueId(i)] = result.graph.add_value(value);
  }
  for (std::size_t i = 0; i < old.node_count(); ++i) {
    const Node& node = old.node(NodeId(i));
    const std::vector<ValueId> inputs = mapped(result.to, node.inputs);
    builder.set_scope(node.name);
    builder.set_phase(node.phase);
    std::optional<std::vector<ValueId>> outputs = replace(builder, node, inputs);
    if (!outputs) outputs = builder.add(*node.op, node.attrs, inputs);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId fresh = k < outputs->size() ? (*outputs)[k] : ValueId();
      result.to[node.outputs[k]] = fresh;
      const ValueId previous = old.value(node.outputs[k]).previous_version;
      if (fresh.valid() && previous.valid()) builder.replace_state(result.to[previous], fresh);
    }
  }
  result.graph.inputs() = mapped(result.to, old.inputs());
  result.graph.outputs() = mapped(result.to, old.outputs());
  return result;
}

}  // namespace lowtide::passes
