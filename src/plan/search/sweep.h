// Sweep: good schedules for every number of bytes between the smallest and the largest that make
// sense, each found from its neighbour.
#pragma once

#include <vector>

#include "plan/search/search.h"

namespace lowtide::plan {

// Goes down through limits a few percent apart, annealing at each from the schedule of the one
// above and from the bound's answer, with ever more moves near the bottom, until nothing fits; then
// up again from the ones below. `start` is a Pareto set, fastest first; so is the result, which is
// nowhere worse.
std::vector<Candidate> sweep(const Problem& problem, std::vector<Candidate> start);

}  // namespace lowtide::plan
