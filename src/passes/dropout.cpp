#include "passes/dropout.h"

#include <algorithm>

#include "core/glob.h"
#include "core/text.h"

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

core::IdVector<ValueId, bool> computed_from_inputs(const Graph& graph) {
  core::IdVector<ValueId, bool> result;
  result.resize(graph.value_count(), false);
  for (const ValueId input : graph.inputs()) result[input] = true;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    const bool computed = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return result[input]; });
    for (const ValueId output : node.outputs) result[output] = computed;
  }
  return result;
}

}  // namespace

DropoutRatios choose_dropout(const Graph& graph,
                             const std::multimap<std::string, ValueId>& named,
                             const std::vector<DropoutRule>& rules) {
  DropoutRatios result;
  if (rules.empty()) return result;
  const core::IdVector<ValueId, bool> computed = computed_from_inputs(graph);
  for (const DropoutRule& rule : rules) {
    if (!(rule.ratio >= 0 && rule.ratio < 1)) {
      throw core::fail(ErrorCode::kInvalidArgument,
                       "the dropout ratio of '{}' must lie in [0, 1), not {}", rule.glob,
                       rule.ratio);
    }
    bool matched = false;
    for (const auto& [name, value] : named) {
      const bool can = graph.value(value).producer.valid() && computed[value] &&
                       core::is_float(graph.type(value).dtype);
      if (!can || !core::glob_matches(rule.glob, name)) continue;
      result[value] = rule.ratio;
      matched = true;
    }
    if (!matched) {
      throw core::fail(ErrorCode::kInvalidArgument,
                       "--dropout '{}' matches no node or computed value of the model", rule.glob);
    }
  }
  return result;
}

}  // namespace lowtide::passes
