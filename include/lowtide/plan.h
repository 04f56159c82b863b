// PlanReport: what a run needs and how the planner makes it fit, before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lowtide/bytes.h"
#include "lowtide/settings.h"

namespace lowtide {

// Bytes of one role at the moment when the most memory is in use.
struct BudgetShare {
  std::string role;  // "parameters", "optimizer state", "activations", ...
  Bytes bytes;
};

// What the spill file's disk was measured to move, both directions at once.
struct SpillRates {
  double store_bytes_per_second = 0;
  double fetch_bytes_per_second = 0;
};

struct PlanReport {
  bool fits = false;
  Bytes budget;             // as given, or what was found free
  Bytes smallest_feasible;  // a run at this budget works, and at one MiB less does not
  Bytes arena;              // planned memory: state, activations, gradients, workspaces
  Bytes runtime;            // all else: code, kernels, graph, plan, data buffers
  std::int64_t batch = 0;
  std::int64_t micro_batch = 0;
  std::string policy;
  int kept = 0;
  int recomputed = 0;
  int spilled = 0;  // values of the training program that pass through the spill file
  int compressed = 0;
  Bytes fragmentation;           // arena above the most bytes ever in use at once
  Bytes spill_file;              // size of the spill file, state that lives there included
  Bytes spill_stored;            // bytes that a pass writes to it
  Bytes spill_fetched;           // and reads from it
  SpillRates spill_rates;        // as measured when planning
  double stall_seconds = 0;      // of a pass: what steps are predicted to wait for the file
  double predicted_seconds = 0;  // of one optimizer step
  double lower_bound_seconds = 0;
  double planning_seconds = 0;
  std::string costs = "model";  // where times come from: "model" or "measured"
  std::vector<BudgetShare> spent;
  std::string peak_node;  // where the most memory is in use
  // The plans of all programs, as MemorySettings::plan takes them from a file. From plan_training()
  // only, where it fits.
  std::string plan_json;
  std::vector<std::string> notes;  // choices worth telling: what is recognised, frozen, split
};

// Plans a training run without running it. Throws Error for what cannot be read or trained; not
// fitting is an answer (fits == false), not an error.
PlanReport plan_training(const TrainSettings& settings);

}  // namespace lowtide
