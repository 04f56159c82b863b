// Turns a configuration's plans into the report that users see.
#pragma once

#include <optional>

#include "lowtide/error.h"
#include "lowtide/plan.h"

#include "train/fit/budget.h"
#include "train/fit/configuration.h"

namespace lowtide::train {

RuntimeNeeds needs_of(const Configuration& configuration,
                      Bytes buffers,
                      const core::Machine& machine);

// Where the smallest plan needs the most, and by what.
void describe_obstacle(const plan::Infeasible& obstacle, PlanReport& report);

// Fills in everything but budget, runtime and smallest_feasible, which must be set. `obstacle` says
// what stands in the way where report.fits is false.
void describe_choice(const Recipe& recipe,
                     const Configuration& configuration,
                     const std::optional<plan::Infeasible>& obstacle,
                     const MemorySettings& memory,
                     PlanReport& report);

// The error for a budget that is too small.
Error does_not_fit(const PlanReport& report);

}  // namespace lowtide::train
