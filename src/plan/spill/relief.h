// Relief: what is left for recomputation to do when transfers take over some of the bytes.
#pragma once

#include "plan/plan.h"
#include "plan/problem/problem.h"

namespace lowtide::plan {

// The problem without the bytes of some tensors, except where a task reads or writes them: those
// that take the most seconds a byte to compute again, of all that lie idle long enough to go to the
// file and come back, up to that share of what the file's rates can move meanwhile. The tasks are
// the same, so that choices for one problem are choices for the other.
Problem relieved(const Problem& problem, const SpillTier& tier, double share);

}  // namespace lowtide::plan
