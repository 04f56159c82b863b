// Sweep: one configuration planned by several policies at several budgets.
#pragma once

#include <optional>

#include "lowtide/plan.h"

#include "train/fit/configuration.h"

namespace lowtide::train {

// By every policy, at the smallest budget of each, at that of keeping everything and in between.
// `runtime` is what of a budget is not arena. Each policy searches once for all budgets.
PlanSweep sweep(Configuration& configuration, Bytes runtime);

}  // namespace lowtide::train
