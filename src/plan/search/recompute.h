// From a choice of tensors to drop to a schedule.
#pragma once

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Every task once, in its fastest variant or one that reads nothing dropped; tensors marked in
// `dropped` are computed again, with what that needs in turn, just before the first of their
// readers from task `from` on, and then stay. What may not run again so late stays in memory.
Choices recompute_dropped(const Problem& problem,
                          const core::IdVector<TensorId, char>& dropped,
                          TaskId from);

}  // namespace lowtide::plan
