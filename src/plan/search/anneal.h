// Annealing: a local search for the fastest schedule within a limit of bytes. It walks through
// schedules that are too large as well, at a price for every byte too many that follows how hard
// the limit is to meet.
#pragma once

#include <cstdint>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

struct AnnealSettings {
  std::int64_t limit = 0;  // bytes at every step
  std::int64_t moves = 0;  // changes tried
  std::uint64_t seed = 1;  // the same seed gives the same result
  double heat = 1;         // how far uphill the first moves go, in mean repetitions
};

// The fastest schedule met within the limit, starting from what the timeline holds; where there is
// none, the one with the lowest peak. The timeline then is where the walk ended.
Candidate anneal(Timeline& line, const AnnealSettings& settings);

}  // namespace lowtide::plan
