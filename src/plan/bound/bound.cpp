#include "plan/bound/bound.h"

#include <algorithm>

#include "plan/bound/cut.h"

namespace lowtide::plan {

namespace {

// Everything that a task touches, where its outputs take over all that they may.
std::int64_t touched_bytes(const Problem& problem, const Variant& variant) {
  std::int64_t bytes = own_bytes(problem, variant);
  for (const TensorId read : variant.reads) bytes += problem.tensors[read].bytes;
  for (const TensorId write : variant.writes) bytes += problem.tensors[write].bytes;
  return bytes;
}

}  // namespace

std::int64_t least_bytes(const Problem& problem) {
  std::int64_t most = 0;
  for (const Task& task : problem.tasks) {
    std::int64_t least = touched_bytes(problem, task.variants.front());
    for (const Variant& variant : task.variants) {
      least = std::min(least, touched_bytes(problem, variant));
    }
    most = std::max(most, least);
  }
  return most;
}

double lower_bound(const Problem& problem, std::int64_t limit, int cuts) {
  const double again = seconds_of_all_repetitions(problem);
  double extra = 0;
  for (const TaskId at : crowded_steps(problem, limit, cuts)) {
    extra = std::max(extra, Cut(problem, at, again).best(limit).value);
  }
  return problem.fastest_seconds() + extra;
}

}  // namespace lowtide::plan
