// Choices: what makes a schedule of a problem.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/problem/problem.h"

namespace lowtide::plan {

// A second or later execution of `task`, just before the first execution of `stage`. Repetitions
// of one stage run in the problem's order.
struct Repetition {
  TaskId stage;
  TaskId task;

  bool operator==(const Repetition&) const = default;
};

// What distinguishes one schedule of a problem from another.
struct Choices {
  std::vector<Repetition> repetitions;
  core::IdVector<TaskId, std::uint8_t> variants;
};

// Every task once, in its fastest variant.
Choices fastest_choices(const Problem& problem);

// The tasks that run, first or again, in time's order.
std::vector<TaskId> executions(const Choices& choices);

// Whether the repetition is one the problem allows.
bool allowed(const Problem& problem, Repetition what);

// A schedule and what it takes.
struct Candidate {
  Choices choices;
  double seconds = 0;
  std::int64_t peak = 0;  // bytes in use at most: a packing is at least this high
};

}  // namespace lowtide::plan
