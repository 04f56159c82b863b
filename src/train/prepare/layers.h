// What kind of layer each node of a graph is: the words that the planner's baselines are defined
// in.
#pragma once

#include "graph/graph.h"
#include "plan/baseline/layers.h"

namespace lowtide::train {

plan::Layers layers_of(const graph::Graph& graph);

}  // namespace lowtide::train
