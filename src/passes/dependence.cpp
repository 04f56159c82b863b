#include "passes/dependence.h"

#include <algorithm>
#include <set>

namespace lowtide::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool read_only_by(const Graph& graph, const Readers& readers, ValueId id, std::size_t count) {
  const std::vector<ValueId>& outputs = graph.outputs();
  return readers[id].size() == count &&
         std::find(outputs.begin(), outputs.end(), id) == outputs.end();
}

bool depends_on_state(const Graph& graph, ValueId id) {
  std::set<ValueId> seen;
  std::vector<ValueId> open = {id};
  while (!open.empty()) {
    const graph::Value& value = graph.value(open.back());
    open.pop_back();
    if (graph::is_state(value.role)) return true;
    if (!value.producer.valid()) continue;
    for (const ValueId input : graph.node(value.producer).inputs) {
      if (seen.insert(input).second) open.push_back(input);
    }
  }
  return false;
}

void drop_unread(Graph& graph) {
  std::vector<bool> read(graph.value_count(), false);
  for (const ValueId output : graph.outputs()) read[output.index()] = true;
  std::vector<NodeId> kept;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.node(NodeId(i));
    const bool needed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return read[id.index()] || graph.value(id).previous_version.valid();
    });
    if (!needed) continue;
    for (const ValueId input : node.inputs) read[input.index()] = true;
    kept.emplace_back(i);
  }
  std::reverse(kept.begin(), kept.end());
  graph.keep_nodes(kept);
}

}  // namespace lowtide::passes
