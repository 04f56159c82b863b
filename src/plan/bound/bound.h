// Bound: seconds that no schedule of a problem can beat within a limit of bytes.
#pragma once

#include <cstdint>

#include "plan/problem/problem.h"

namespace lowtide::plan {

// Looks at single steps. What is read later and was computed before must be in memory there or be
// computed again afterwards, with what that needs in turn. The least time for that, the limit on
// bytes priced (Lagrange), is a smallest cut; the best price and the best of `cuts` steps give the
// bound. Holds for any place and number of repetitions.
double lower_bound(const Problem& problem, std::int64_t limit, int cuts);

// Bytes that some task needs by itself in each of its variants: no schedule has a lower peak.
std::int64_t least_bytes(const Problem& problem);

}  // namespace lowtide::plan
