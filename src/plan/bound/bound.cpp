#include "plan/bound/bound.h"

#include <algorithm>

#include "plan/bound/cut.h"

namespace lowtide::plan {

double lower_bound(const Problem& problem, std::int64_t limit, int cuts) {
  const double again = seconds_of_all_repetitions(problem);
  double extra = 0;
  for (const TaskId at : crowded_steps(problem, limit, cuts)) {
    extra = std::max(extra, Cut(problem, at, again).best(limit).value);
  }
  return problem.fastest_seconds() + extra;
}

}  // namespace lowtide::plan
