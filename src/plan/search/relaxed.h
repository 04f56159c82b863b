// Schedules from the lower bound's own answers: right at one step, to be repaired at the others.
#pragma once

#include <cstdint>

#include "plan/bound/cut.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Keeps over the cut what the bound keeps within the limit, and computes the rest again.
Choices relaxed(const Problem& problem, TaskId at, const Cut::Answer& answer);

}  // namespace lowtide::plan
