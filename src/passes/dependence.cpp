#include "passes/dependence.h"

#include <algorithm>
#include <set>

namespace lowtide::passes {

using graph::Graph;
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

}  // namespace lowtide::passes
