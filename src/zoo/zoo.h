// The zoo: well-known networks with fresh weights, as inference graphs of one sample.
#pragma once

#include <string>
#include <vector>

#include "lowtide/zoo.h"

#include "graph/graph.h"

namespace lowtide::zoo {

std::vector<std::string> names();

// A graph with one input, "input", and one output, the logits. Nothing in it depends on the number
// of samples but the first dimension. Throws Error(kInvalidArgument) for settings the network
// cannot have.
graph::Graph build(const ZooSettings& settings);

}  // namespace lowtide::zoo
