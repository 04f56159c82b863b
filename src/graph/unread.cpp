#include "graph/unread.h"

#include <algorithm>
#include <vector>

namespace lowtide::graph {

void drop_unread(Graph& graph, std::size_t first, std::span<const ValueId> results) {
  std::vector<bool> read(graph.value_count(), false);
  for (const ValueId output : graph.outputs()) read[output.index()] = true;
  for (const ValueId id : results) {
    if (id.valid()) read[id.index()] = true;
  }
  std::vector<NodeId> kept;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.node(NodeId(i));
    const bool needed =
        i < first || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
          return read[id.index()] || graph.value(id).previous_version.valid();
        });
    if (!needed) continue;
    for (const ValueId input : node.inputs) read[input.index()] = true;
    kept.emplace_back(i);
  }
  if (kept.size() == graph.node_count()) return;
  std::reverse(kept.begin(), kept.end());
  graph.keep_nodes(kept);
}

}  // namespace lowtide::graph
