#include "plan/spill/leisure.h"

#include <algorithm>

#include "plan/model.h"
#include "plan/sequence.h"

namespace lowtide::plan {

core::IdVector<ValueId, double> leisure(const graph::Graph& graph, const Costs& costs) {
  const Model model = read_model(graph, costs);
  const Sequence sequence = first_executions(model);
  const double whole = std::max(seconds(model, sequence), 1e-30);
  core::IdVector<ValueId, double> first(graph.value_count(), whole);
  core::IdVector<ValueId, double> last(graph.value_count(), 0);
  double before = 0;
  for (const Execution& execution : sequence) {
    const graph::Node& node = graph.node(execution.node);
    const double behind = before + model.nodes[execution.node].seconds;
    for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) {
        const ValueId home = model.values[value].home;
        if (!home.valid()) continue;
        first[home] = std::min(first[home], before);
        last[home] = std::max(last[home], behind);
      }
    }
    before = behind;
  }
  core::IdVector<ValueId, double> result(graph.value_count(), 0);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id(i);
    result[id] = std::min(first[id], whole - last[id]) / whole;
  }
  return result;
}

}  // namespace lowtide::plan
