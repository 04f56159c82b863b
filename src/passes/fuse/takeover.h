// Nodes that do the work of others before them, which go.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "passes/rewrite.h"

namespace lowtide::passes {

// The nodes that go: what each of them would have read in the new graph.
class TakenOver {
 public:
  struct Entry {
    const graph::Node* node = nullptr;
    std::vector<graph::ValueId> inputs;
  };

  // By its first output; an invalid one is none.
  void add(graph::ValueId output) {
    if (output.valid()) entries_.emplace(output, Entry());
  }

  // Notes the inputs of a node that goes; returns whether this is one.
  bool note(const graph::Node& node, const std::vector<graph::ValueId>& inputs) {
    const auto found = entries_.find(node.outputs[0]);
    if (found == entries_.end()) return false;
    found->second = {.node = &node, .inputs = inputs};
    return true;
  }

  [[nodiscard]] const Entry& at(graph::ValueId output) const { return entries_.at(output); }

 private:
  std::map<graph::ValueId, Entry> entries_;
};

// Rewrites the graph: where find(node) gives a fusion, the values in its gone() are no longer made,
// and emit(builder, node, fusion, taken) makes the node's output. What goes must be read by nothing
// but the node and what goes with it.
template <class Find, class Emit>
Rewritten take_over(const graph::Graph& graph, Find find, Emit emit) {
  using Fusion = typename decltype(find(graph.node(graph::NodeId(0))))::value_type;
  std::map<graph::ValueId, Fusion> fusions;  // by the node's output
  TakenOver taken;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(graph::NodeId(i));
    const std::optional<Fusion> fusion = find(node);
    if (!fusion) continue;
    fusions.emplace(node.outputs[0], *fusion);
    for (const graph::ValueId gone : fusion->gone()) taken.add(gone);
  }
  using Values = std::vector<graph::ValueId>;
  return rewrite(graph,
                 [&](graph::GraphBuilder& b, const graph::Node& node,
                     const Values& inputs) -> std::optional<Values> {
                   if (taken.note(node, inputs)) return Values{graph::ValueId()};
                   const auto found = fusions.find(node.outputs[0]);
                   if (found == fusions.end()) return std::nullopt;
                   return Values{emit(b, node, found->second, taken)};
                 });
}

}  // namespace lowtide::passes
