// Dropout put back where the file has none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lowtide::passes {

// Values whose name, or whose node's, the glob matches are dropped out with this ratio.
struct DropoutRule {
  std::string glob;
  double ratio = 0;
};

// The ratio of each value that is dropped out while training.
using DropoutRatios = std::map<graph::ValueId, double>;

// What rules choose among the named values; of several rules that match one value the last counts.
// Only float values that depend on the graph's inputs can be dropped out. Throws
// Error(kInvalidArgument) for a ratio outside [0, 1) and for a glob that matches nothing.
DropoutRatios choose_dropout(const graph::Graph& graph,
                             const std::multimap<std::string, graph::ValueId>& named,
                             const std::vector<DropoutRule>& rules);

}  // namespace lowtide::passes
