// A sweep as a table for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "lowtide/plan.h"

namespace lowtide::cli {

// Policies side by side: seconds of a step, those of repeated work, percent of keep's bytes.
std::string sweep_text(const PlanSweep& sweep);
nlohmann::json sweep_json(const PlanSweep& sweep);

}  // namespace lowtide::cli
