#include "plan/sequence.h"

#include <algorithm>

namespace lowtide::plan {

namespace {

using graph::Node;

// Puts eager nodes into a sequence of the others: each behind the last execution it waits for,
// which is that of a producer of its inputs or of a reader of the state it replaces.
Sequence insert_eager(const Model& model, const Sequence& others) {
  constexpr std::int32_t kStart = -1;
  core::IdVector<NodeId, std::int32_t> done(model.nodes.size(), kStart);
  core::IdVector<ValueId, std::int32_t> last_read(model.values.size(), kStart);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto at = static_cast<std::int32_t>(i);
    if (!others[i].again) done[others[i].node] = at;
    for (const ValueId input : read_in_any_way(model, others[i].node)) {
      last_read[model.values[input].base] = at;
    }
  }
  std::vector<std::vector<NodeId>> after(others.size() + 1);  // by the position waited for, plus 1
  for (const NodeId id : model.eager) {
    const Node& node = model.graph.node(id);
    std::int32_t at = kStart;
    for (const ValueId input : node.inputs) {
      const NodeId producer = model.values[input].producer;
      if (producer.valid()) at = std::max(at, done[producer]);
    }
    for (const ValueId output : node.outputs) {
      const ValueId old = model.graph.value(output).previous_version;
      if (old.valid()) at = std::max(at, last_read[model.values[old].base]);
    }
    done[id] = at;
    for (const ValueId input : node.inputs) {
      std::int32_t& last = last_read[model.values[input].base];
      last = std::max(last, at);
    }
    after[static_cast<std::size_t>(at + 1)].push_back(id);
  }
  Sequence all;
  all.reserve(others.size() + model.eager.size());
  for (std::size_t i = 0; i <= others.size(); ++i) {
    if (i > 0) all.push_back(others[i - 1]);
    for (const NodeId id : after[i]) all.push_back({id, false});
  }
  return all;
}

}  // namespace

Sequence first_executions(const Model& model) {
  Sequence others;
  others.reserve(model.order.size());
  for (const NodeId id : model.order) others.push_back({id, false});
  return insert_eager(model, others);
}

double seconds(const Model& model, const Sequence& sequence) {
  double sum = 0;
  for (const Execution& execution : sequence) sum += model.nodes[execution.node].seconds;
  return sum;
}

}  // namespace lowtide::plan
