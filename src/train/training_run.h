// TrainingRun: the spine of training. Settles what to do, plans it inside the budget, and steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/error.h"
#include "lowtide/plan.h"
#include "lowtide/trace.h"
#include "lowtide/trainer.h"

#include "data/loader.h"
#include "memory/arena.h"
#include "memory/spill/store.h"
#include "onnx/write.h"
#include "run/cost_cache.h"
#include "train/checkpoint/checkpoints.h"
#include "train/fit/budget.h"
#include "train/fit/configuration.h"
#include "train/fit/state_memory.h"
#include "train/numbers/finite_guard.h"
#include "train/numbers/statistics_copy.h"
#include "train/prepare/recipe.h"
#include "train/step_trace.h"
#include "train/validation.h"

namespace lowtide::train {

class TrainingRun {
 public:
  // Reads, searches micro-batch sizes and plans. Whether it fits is in plan().fits; prepare() must
  // come before the first step.
  explicit TrainingRun(const TrainSettings& settings);

  [[nodiscard]] const PlanReport& plan() const { return report_; }
  // Measures costs and plans again, where the settings ask for it. What comes before prepare().
  void measure_if_asked();
  // Adds the answers to plan(). Likewise.
  void answer(const PlanQuestions& questions);
  // The plans of all programs, as `memory.plan` takes them; where it fits.
  void write_plan(std::ostream& stream) const;
  [[nodiscard]] std::int64_t total_steps() const { return settings_.schedule.total_steps; }
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }

  // Reserves the arena, loads the weights and binds the programs. Throws Error(kDoesNotFit) where
  // the plan does not fit, with the smallest feasible budget in the message.
  void prepare();
  StepReport step();
  EvalReport validate();
  [[nodiscard]] const Standing& standing() const { return standing_; }
  // The fastest step so far; settings.trace must have been set.
  [[nodiscard]] TraceReport trace() const;
  // The state as it is. Gives back the rest of the arena, which the next step takes again.
  void save(const std::filesystem::path& path);
  void save_checkpoint(const std::filesystem::path& path, int keep);

 private:
  void settle_steps();
  [[nodiscard]] Configuration configuration_of(std::int64_t micro_batch) const;
  void configure(std::int64_t micro_batch);
  void choose_configuration();
  void obey_plan();
  void use_cached_costs();
  // Whether it did.
  bool measure_to_train();
  // Counts what this process really takes, where that is more than allowed for; returns whether
  // that led to another plan.
  bool settle_memory();
  void measure(double seconds);
  // Plans with these costs what was planned with others.
  void use_costs(std::vector<plan::Costs> costs);
  // Holds the run against the checkpoint that it goes on from; adds notes.
  void settle_checkpoints();
  // Makes do with what a process of this size leaves.
  void fit_beside(Bytes runtime);
  [[nodiscard]] Error too_large_for_plan(Bytes runtime) const;
  void open_spill();
  [[nodiscard]] RuntimeNeeds needs(const Configuration& configuration) const;
  [[nodiscard]] Bytes runtime(const Configuration& configuration) const;
  [[nodiscard]] std::vector<std::int64_t> micro_batches() const;
  template <class Run>
  void for_programs(const data::Batch& batch, float normalizer, double lr, Run run);
  [[nodiscard]] graph::StepContext context(std::int64_t first_sample) const;
  [[nodiscard]] std::string find_anomaly(const data::Batch& batch, float normalizer, double lr);
  [[nodiscard]] Error not_finite(const FiniteGuard& guard,
                                 const data::Batch& batch,
                                 float normalizer,
                                 double lr);
  [[nodiscard]] onnx::ByteSource state_bytes(const graph::Value& value) const;
  void check_whole() const;
  void write_scalars(const Unit& unit, double lr);

  TrainSettings settings_;
  Checkpoints checkpoints_;
  Recipe recipe_;
  std::vector<std::int64_t> batch_sizes_;
  std::optional<data::Loader> loader_;
  std::optional<Configuration> configuration_;
  std::optional<memory::Arena> arena_;
  // Goes before what it may still be transferring.
  std::optional<memory::SpillStore> spill_;
  std::optional<plan::SpillTier> tier_;
  std::optional<StateMemory> state_;
  std::optional<StatisticsCopy> statistics_;
  std::optional<Validation> validation_;
  Standing standing_;
  std::optional<StepTrace> trace_;
  PlanReport report_;
  run::CostCache cost_cache_;
  std::int64_t steps_done_ = 0;
  bool whole_ = true;   // the state is that after steps_done_ updates
  bool ended_ = false;  // a step has failed
};

}  // namespace lowtide::train
