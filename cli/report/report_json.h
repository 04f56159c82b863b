// The "plan" object that several commands print.
#pragma once

#include <nlohmann/json.hpp>

#include "lowtide/plan.h"

namespace lowtide::cli {

inline nlohmann::json plan_json(const PlanReport& plan) {
  nlohmann::json spent = nlohmann::json::object();
  for (const BudgetShare& share : plan.spent) spent[share.role] = share.bytes.count();
  const nlohmann::json spill = {{"file_bytes", plan.spill_file.count()},
                                {"stored_bytes", plan.spill_stored.count()},
                                {"fetched_bytes", plan.spill_fetched.count()},
                                {"store_bytes_per_second", plan.spill_rates.store_bytes_per_second},
                                {"fetch_bytes_per_second", plan.spill_rates.fetch_bytes_per_second},
                                {"stall_seconds", plan.stall_seconds}};
  return {{"policy", plan.policy},
          {"predicted_seconds", plan.predicted_seconds},
          {"keep_seconds", plan.keep_seconds},
          {"lower_bound_seconds", plan.lower_bound_seconds},
          {"kept", plan.kept},
          {"recomputed", plan.recomputed},
          {"spilled", plan.spilled},
          {"spill", spill},
          {"compressed", plan.compressed},
          {"fragmentation_bytes", plan.fragmentation.count()},
          {"peak_node", plan.peak_node},
          {"spent", spent}};
}

}  // namespace lowtide::cli
