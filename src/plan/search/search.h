// Search: the candidate schedules of a policy. They do not depend on the budget.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Fastest first; without those that are not smaller than something at least as fast.
std::vector<Candidate> pareto(std::vector<Candidate> all);

// Sets the bytes that candidates of another problem with the same tasks take in this one.
void find_peaks(const Problem& problem, std::vector<Candidate>& candidates);

// The policy's candidates, a Pareto set, fastest first. Deterministic. Never empty. `known` are
// schedules to start from, beside the policy's own: nothing is worse than they are.
std::vector<Candidate> search(const Problem& problem,
                              Policy policy,
                              std::vector<Candidate> known = {});

}  // namespace lowtide::plan
