// From a choice of tensors to drop to a schedule, and what variants it runs in.
#pragma once

#include <cstdint>

#include "plan/bound/cut.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Every task once, in its fastest variant or one that reads nothing dropped; tensors marked in
// `dropped` are computed again, with what that needs in turn, just before the first of their
// readers from task `from` on, and then stay. What may not run again so late stays in memory.
Choices recompute_dropped(const Problem& problem,
                          const core::IdVector<TensorId, char>& dropped,
                          TaskId from);

// Keeps over the cut what the bound keeps within the limit, and computes the rest again: right at
// one step, to be repaired at the others.
Choices relaxed(const Problem& problem, TaskId at, const Cut::Answer& answer);

// Runs tasks in their fastest variants as far as the schedule stays within the limit, which it is
// in before. Many are tried at a time, and fewer where these do not fit.
void take_fastest_variants(Timeline& line, std::int64_t limit);

}  // namespace lowtide::plan
