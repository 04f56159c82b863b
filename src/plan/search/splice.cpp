#include "plan/search/splice.h"

#include <algorithm>
#include <iterator>

namespace lowtide::plan {

namespace {

using Depths = core::IdVector<TaskId, std::size_t>;

// Tasks less deep than `depth` as in `small`, the others as in `fast`.
Choices spliced(const Depths& depths,
                const Choices& small,
                const Choices& fast,
                std::size_t depth) {
  Choices result{.repetitions = {}, .variants = fast.variants};
  const auto is_shallow = [&](TaskId task) { return depths[task] < depth; };
  std::copy_if(small.repetitions.begin(), small.repetitions.end(),
               std::back_inserter(result.repetitions),
               [&](const Repetition& what) { return is_shallow(what.task); });
  std::copy_if(fast.repetitions.begin(), fast.repetitions.end(),
               std::back_inserter(result.repetitions),
               [&](const Repetition& what) { return !is_shallow(what.task); });
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (is_shallow(TaskId(i))) result.variants[TaskId(i)] = small.variants[TaskId(i)];
  }
  return result;
}

}  // namespace

Depths depths(const Problem& problem, TaskId last) {
  Depths depths(problem.tasks.size());
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const TaskId id(i);
    depths[id] = i;
    if (id <= last) continue;
    bool found = false;
    std::size_t deepest = 0;
    for (const TensorId read : problem.tasks[id].variants.front().reads) {
      const TaskId producer = problem.tensors[read].producer;
      if (!producer.valid() || producer > last) continue;
      deepest = std::max(deepest, producer.index());
      found = true;
    }
    depths[id] = found ? deepest : depths[TaskId(i - 1)];
  }
  return depths;
}

Candidate splice(Gauge& gauge,
                 const Depths& depths,
                 const Choices& small,
                 const Choices& fast,
                 std::int64_t limit) {
  constexpr std::size_t kParts = 128;  // how exactly the depth is looked for
  std::size_t too_large = 0;
  std::size_t fits = depths.size();
  while (fits - too_large > depths.size() / kParts + 1) {
    const std::size_t middle = too_large + (fits - too_large) / 2;
    const bool middle_fits = gauge.fits(spliced(depths, small, fast, middle), limit);
    (middle_fits ? fits : too_large) = middle;
  }
  return gauge.candidate(spliced(depths, small, fast, fits));
}

}  // namespace lowtide::plan
