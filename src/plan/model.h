// Model: what planning needs to know of a graph, read once from the graph and its ops' cards.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"

namespace lowtide::plan {

struct ValueFacts {
  Bytes bytes;          // rounded up to kAlignment
  NodeId producer;      // invalid for inputs and persistent values
  ValueId base;         // the value whose storage this is, following views back; itself for most
  ValueId home;         // the persistent value whose fixed place it has; invalid for transient ones
  bool movable = true;  // may leave memory for the spill file, if there is one
  bool pinned = false;  // a scalar input or an output of the graph: stays until the last step
};

struct NodeFacts {
  std::vector<graph::Alias> aliases;
  double seconds = 0;
  Bytes scratch;            // rounded up to kAlignment
  bool needed = false;      // an output or a state value depends on it
  bool repeatable = false;  // may run again, at any place after its first execution
  // Runs as soon as it may: the node uses up gradients and changes state. Such a node never runs
  // again and no other node reads what it writes.
  bool eager = false;
  // Nodes one of which may run in place of this one; of a needed one, and reading only what needed
  // nodes read. Themselves never needed.
  std::vector<NodeId> alternatives;
};

struct Model {
  const graph::Graph& graph;
  core::IdVector<ValueId, ValueFacts> values;
  core::IdVector<NodeId, NodeFacts> nodes;
  std::vector<ValueId> inputs;      // transient values that exist before step 0
  std::vector<ValueId> persistent;  // those that a needed node touches
  std::vector<NodeId> order;        // needed nodes that are not eager, in the graph's order
  std::vector<NodeId> eager;        // needed nodes that are, in the graph's order

  [[nodiscard]] bool transient(ValueId id) const { return !values[id].home.valid(); }
};

// The inputs of a node and of its alternatives.
std::vector<ValueId> read_in_any_way(const Model& model, NodeId id);

Model read_model(const graph::Graph& graph, const Costs& costs);

}  // namespace lowtide::plan
