// Splices: schedules that lie between two others, for problems too large to be walked through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/problem/gauge.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

// How deep in the network a task works: forward tasks, those up to `last`, at their own place; any
// other where the deepest of what it reads of theirs was made, or else where the task before it
// does.
core::IdVector<TaskId, std::size_t> depths(const Problem& problem, TaskId last);

// Of `small`, which is within the limit, and `fast`, which is not: as little as it takes of the
// former for the shallow tasks, and the latter for those below. The deep ones may take more bytes,
// as they give them back before the shallow ones run again.
Candidate splice(Gauge& gauge,
                 const core::IdVector<TaskId, std::size_t>& depths,
                 const Choices& small,
                 const Choices& fast,
                 std::int64_t limit);

}  // namespace lowtide::plan
