// PlanReport: what a run needs and how the planner makes it fit, before the first step.
#pragma once

#include <cstdint>
#include <optional>
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

// One policy at one budget.
struct SweepPoint {
  Bytes budget;
  Bytes arena;
  double predicted_seconds = 0;   // of one optimizer step
  double recomputed_seconds = 0;  // of these: what keeping everything would save
  double stall_seconds = 0;       // of these: waiting for the spill file
  int recomputed = 0;
  // Activations, gradients and workspaces: their part of the arena, against that of `keep`.
  double share_of_keep = 0;
};

struct SweepCurve {
  std::string policy;
  Bytes smallest_feasible;
  std::vector<SweepPoint> points;  // at the sweep's budgets that are large enough
};

// Every policy over budgets, from the smallest that works for any to that of keeping everything.
struct PlanSweep {
  std::int64_t micro_batch = 0;
  Bytes keep;  // what share_of_keep is a share of
  std::vector<Bytes> budgets;
  std::vector<SweepCurve> curves;
};

// A tensor that lies idle where the most memory is in use.
struct IdleTensor {
  std::string name;
  Bytes bytes;
  bool repeatable = false;   // may be computed again
  double again_seconds = 0;  // which takes that long, with what it needs
  std::string why;           // why it stays
};

// What to find out beside the plan.
struct PlanQuestions {
  bool sweep = false;
  bool idle_tensors = false;              // the ten largest
  std::vector<std::string> explain = {};  // names of nodes and tensors, or parts of names
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
  Bytes fragmentation;             // arena above the most bytes ever in use at once
  Bytes spill_file;                // size of the spill file, state that lives there included
  Bytes spill_stored;              // bytes that a pass writes to it
  Bytes spill_fetched;             // and reads from it
  SpillRates spill_rates;          // as measured when planning
  double stall_seconds = 0;        // of a pass: what steps are predicted to wait for the file
  double predicted_seconds = 0;    // of one optimizer step
  double keep_seconds = 0;         // likewise, where nothing runs again, waits or goes a slower way
  double lower_bound_seconds = 0;  // that no plan for this budget can beat; not where it spills
  double planning_seconds = 0;
  std::string costs = "model";  // where times come from: "model" or "measured"
  std::vector<BudgetShare> spent;
  std::string peak_node;  // where the most memory is in use
  // The plans of all programs, as MemorySettings::plan takes them from a file. From plan_training()
  // only, where it fits.
  std::string plan_json;
  std::optional<PlanSweep> sweep;         // where it was asked for
  std::vector<IdleTensor> idle_tensors;   // likewise
  std::vector<std::string> explanations;  // one text for each question; empty for unknown names
  std::vector<std::string> notes;  // choices worth telling: what is recognised, frozen, split
};

// Plans a training run without running it. Throws Error for what cannot be read or trained; not
// fitting is an answer (fits == false), not an error.
PlanReport plan_training(const TrainSettings& settings, const PlanQuestions& questions = {});

}  // namespace lowtide
