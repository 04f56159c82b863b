// Other ways to compute what the passes behind the loss compute.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// Gives each gradient of convolution weights, where it can be had so, an alternative that reads
// what the convolution's input was made of: the planner may then let the input go after the forward
// pass without computing it again. Where a concatenation was normalised, the alternative takes the
// gradient's place; where an input was joined of others, there may be one that reads these. Updates
// of large weights whose gradient is a product, and read by nothing else, become one node with the
// product, with an alternative that never holds the whole gradient. The last pass: it adds nodes
// behind all others.
void offer_alternatives(graph::Graph& graph);

}  // namespace lowtide::passes
