// Products with constant numbers, as patterns of exporters have them.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace lowtide::passes {

// The elements of a value that nothing but constants goes into, if it is small and soon computed.
std::optional<graph::ConstantTensor> constant_tensor(const graph::Graph& graph, graph::ValueId id);

// The element of a constant that has just one.
std::optional<double> constant_number(const graph::Graph& graph, graph::ValueId id);

// The node that makes the value, if any does.
const graph::Node* producer(const graph::Graph& graph, graph::ValueId id);
bool made_by(const graph::Graph& graph, graph::ValueId id, const graph::OpDef& op);

// factor x.
struct Scaled {
  graph::ValueId x;
  double factor = 1;
};

// A value that is another one of its shape times a number, or divided by one.
std::optional<Scaled> scaled(const graph::Graph& graph, graph::ValueId id);

}  // namespace lowtide::passes
