// Solve: one problem, one limit, all the care that fits into some tenths of a second.
#pragma once

#include <cstdint>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// The fastest schedule found within the limit; where there is none, one with a low peak. Anneals
// from scratch and from the bound's answer, goes straight down from both, and anneals once more,
// cooler, from the best of these. The work is counted in moves: a larger problem takes longer.
Choices solve(const Problem& problem, std::int64_t limit);

}  // namespace lowtide::plan
