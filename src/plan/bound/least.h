// Least: what no plan of a graph can do without. Cheap: nothing is searched.
#pragma once

#include "lowtide/bytes.h"

#include "plan/plan.h"

namespace lowtide::plan {

struct Least {
  Bytes transient;     // that the arena must have beside the persistent values
  double seconds = 0;  // of every needed node once
};

// Without spilling.
Least least(const graph::Graph& graph, const Costs& costs);

}  // namespace lowtide::plan
