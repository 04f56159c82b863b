// Leisure: how long a step goes on without each of its persistent values.
#pragma once

#include "plan/plan.h"

namespace lowtide::plan {

// For each persistent value without a producer: the share of a step's seconds that go by before its
// first use or after the last use of its last version, whichever is less. So much is there to hide
// its transfers in, each way, when its home is the file. 1 for what no needed node touches.
core::IdVector<ValueId, double> leisure(const graph::Graph& graph, const Costs& costs);

}  // namespace lowtide::plan
