// Trainer: trains one model on one data set inside a byte budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/infer.h"
#include "lowtide/plan.h"
#include "lowtide/settings.h"
#include "lowtide/trace.h"

namespace lowtide {

struct StepReport {
  std::int64_t step = 0;   // updates done, this one included
  std::int64_t epoch = 0;  // counted from 0
  double loss = 0;         // mean over the whole batch, before the update
  double loss_weight = 0;  // what it is a mean of: elements, or the weights of labels that count
  double lr = 0;
  double grad_norm = 0;  // before clipping
  double seconds = 0;
  double spill_wait = 0;  // of these seconds: waiting for the spill file
  std::int64_t samples = 0;
  std::int64_t correct = -1;  // right labels among `counted`; -1 without class labels
  std::int64_t counted = 0;
  // With TrainSettings::step_metrics, as EvalReport has them.
  std::optional<std::int64_t> top_five;  // labels among the five largest outputs
  std::optional<double> absolute_error;  // its mean
  bool of_tokens = false;                // whether exp(loss) is a perplexity, as in EvalReport
  Bytes resident;
  bool epoch_ends = false;

  [[nodiscard]] double samples_per_second() const {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
};

// How a run stands by its validations.
struct Standing {
  double best_loss = 0;         // the lowest so far
  std::int64_t best_step = -1;  // the updates done by then; -1: none yet
  std::int64_t since_best = 0;  // validations since; 0: the last one was the best
};

// Made ready to run by its constructor: the model is read, the plan made and checked, the arena
// reserved and the weights loaded. Use from one thread. Move-only.
class Trainer {
 public:
  // Throws Error: kDoesNotFit with the smallest feasible budget in its message, and whatever
  // reading the model and the data brings up.
  explicit Trainer(const TrainSettings& settings);
  Trainer(Trainer&& other) noexcept;
  Trainer& operator=(Trainer&& other) noexcept;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  [[nodiscard]] const PlanReport& plan() const;
  [[nodiscard]] std::int64_t total_steps() const;
  [[nodiscard]] std::int64_t steps_done() const;

  // One optimizer step on the next batch. Throws Error for bad data (kInvalidArgument, kNumeric),
  // before any weight is touched by it, and kNumeric where the loss or the gradient is not finite.
  // After that no step follows, and saving is refused where the step had changed any weight: see
  // TrainSettings::detect_anomaly; else all state, running statistics included, is that before the
  // step. A new trainer goes on from the last checkpoint.
  StepReport step();

  // The plans of all programs, as PlanReport::plan_json. Allocates in proportion to the number of
  // nodes, which is part of the budget where TrainSettings::report was set.
  void write_plan(std::ostream& stream) const;

  // Loss and metrics of the present weights on DataSettings::validation (of their means, with
  // OptimizerSettings::ema): what `eval` finds in the file that save() writes. Within the budget;
  // changes no weight. Throws Error(kInvalidArgument) without such data.
  EvalReport validate();
  // Checkpoints keep it.
  [[nodiscard]] const Standing& standing() const;

  // Where the time of the fastest step so far went; TrainSettings::trace must have been set.
  // Measures the machine's peaks, a few milliseconds.
  [[nodiscard]] TraceReport trace() const;

  // Writes the model with the present weights: names, interface, opset and everything not trained
  // stay. Atomic: an existing file is replaced whole or not at all. Throws Error(kIo).
  void save(const std::filesystem::path& path) const;

  // Writes all that CheckpointSettings::resume needs to `path`: weights, running statistics, the
  // optimizer's state, counters, and what the run is (docs/checkpoints.md). Atomic like save(); of
  // the older ones there, `keep` - 1 stay beside it. Throws Error: kIo with what was there before
  // untouched; kNumeric where the last step failed half-way or the state holds a number that is not
  // finite.
  void save_checkpoint(const std::filesystem::path& path, int keep = 2);

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

// Most bytes this process ever had resident, as the operating system counts (VmHWM).
Bytes peak_resident();

}  // namespace lowtide
