// The zoo: well-known networks with fresh weights, as inference graphs of one sample.
#pragma once

#include <vector>

#include "lowtide/zoo.h"

#include "graph/graph.h"

namespace lowtide::zoo {

// Every network there is.
std::vector<ZooNetwork> networks();
std::vector<std::string> names();

// A graph with one input, "input", and one output, the logits. Nothing in it depends on the number
// of samples but the first dimension. Weights are recipes (graph::Content::draw). Throws
// Error(kInvalidArgument) for settings the network cannot have.
graph::Graph build(const ZooSettings& settings);

// The elements of its tensors that are trained.
std::int64_t parameters(const graph::Graph& graph);

}  // namespace lowtide::zoo
