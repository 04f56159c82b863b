// All rewriting of patterns into ops that do the same with less memory and time.
#pragma once

#include "graph/graph.h"

namespace lowtide::passes {

// For graphs before differentiation, outputs set; values keep their ids.
void fuse(graph::Graph& graph);

}  // namespace lowtide::passes
