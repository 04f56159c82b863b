// Evaluation: what a choice of fates costs in time and memory.
#pragma once

#include <utility>
#include <vector>

#include "plan/schedule.h"
#include "plan/search/search.h"

namespace lowtide::plan {

struct Evaluation {
  Evaluation(const Model& model, const Droppable& droppable, Fates chosen);

  [[nodiscard]] Candidate candidate() const { return {fates, seconds, peak}; }

  // Lower, or as low at fewer steps: progress on the way down.
  [[nodiscard]] bool lower_than(const Evaluation& other) const {
    return peak != other.peak ? peak < other.peak : steps_at_peak < other.steps_at_peak;
  }

  Fates fates;
  Schedule schedule;
  double seconds = 0;
  Bytes peak;  // transient
  std::size_t peak_step = 0;
  std::ptrdiff_t steps_at_peak = 0;
};

}  // namespace lowtide::plan
