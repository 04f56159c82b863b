// Search: the candidate plans of a policy. They do not depend on the budget.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "plan/sequence.h"

namespace lowtide::plan {

struct Candidate {
  Fates fates;
  double seconds = 0;
  Bytes peak;  // transient bytes in use at most: its packing is at least this high
};

// The policy's candidates, none of them both slower and larger than another; fastest first.
// Deterministic. Never empty.
std::vector<Candidate> search(const Model& model, const Droppable& droppable, Policy policy);

}  // namespace lowtide::plan
