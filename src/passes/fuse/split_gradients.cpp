#include "passes/fuse/split_gradients.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/split/split.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"
#include "passes/dependence.h"

namespace lowtide::passes {

using graph::NodeId;
using graph::ValueId;

void fuse_split_gradients(graph::Graph& graph) {
  const Readers readers = graph::readers(graph);
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id(i);
    kept.push_back(id);
    const graph::Node& split = graph.node(id);
    if (split.op != &ops::split_op() || split.phase != graph::Phase::kBackward) continue;
    const ValueId whole = split.inputs[0];
    const NodeId producer = graph.value(whole).producer;
    if (!producer.valid() || !read_only_by(graph, readers, whole)) continue;
    std::optional<graph::Node> both = ops::split_conv_transpose(graph, graph.node(producer), split);
    if (!both) continue;
    graph.node(producer) = std::move(*both);
    kept.pop_back();
  }
  if (kept.size() < graph.node_count()) graph.keep_nodes(kept);
}

}  // namespace lowtide::passes
