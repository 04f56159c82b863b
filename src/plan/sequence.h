// Sequences: which node runs when, first or again.
#pragma once

#include <vector>

#include "plan/model.h"

namespace lowtide::plan {

struct Execution {
  NodeId node;  // or one of its alternatives
  bool again = false;
};

using Sequence = std::vector<Execution>;

// Every needed node once in the graph's order, except that eager nodes run as soon as everything
// they wait for is done.
Sequence first_executions(const Model& model);

double seconds(const Model& model, const Sequence& sequence);

}  // namespace lowtide::plan
