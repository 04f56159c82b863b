// Descent: walks from a plan that is large and fast to ones that are small and slow, one drop after
// another at the peak; and back up to a given size.
#pragma once

#include <vector>

#include "plan/search/search.h"

namespace lowtide::plan {

// What dropping a value is taken to cost: computing it and what it newly needs; or that and what
// hangs together with it (after dtr: Kirisame et al. 2021), which spreads the drops out, so that no
// long stretch has to be computed again at once.
enum class Price : std::uint8_t { kAlone, kNeighbourhood };

struct Descent {
  Price price = Price::kAlone;
  int trials = 0;  // schedules that may be evaluated
};

// Everything met on the way down from `start`.
std::vector<Candidate> descend(const Model& model,
                               const Droppable& droppable,
                               const Fates& start,
                               const Descent& settings);

// For sizes spread between the smallest and the largest of `front` (a Pareto set, fastest first):
// the fastest that fits, with as much kept again as fits.
std::vector<Candidate> restore(const Model& model,
                               const Droppable& droppable,
                               const std::vector<Candidate>& front,
                               int trials);

}  // namespace lowtide::plan
