// What a person sees while training: the plan, a moving line, one line per epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "lowtide/plan.h"
#include "lowtide/trainer.h"

#include "cli/report/metric_sums.h"

namespace lowtide::cli {

// The plan as a header of a few lines.
std::string plan_text(const PlanReport& plan);

// "1 h 02 min", "3 min 20 s", "12.3 s".
std::string duration_text(double seconds);

// Shows steps as they come: on a terminal one line that is redrawn, elsewhere a plain line now and
// then. Writes to standard error when standard output belongs to --json.
class Progress {
 public:
  Progress(bool json, std::int64_t total_steps, Bytes budget);

  void show(const StepReport& step);
  // Ends the moving line, so that other text can follow.
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string line(const StepReport& step, double rate) const;
  void end_epoch(const StepReport& step);

  bool json_;
  bool terminal_;
  bool line_open_ = false;
  std::int64_t total_steps_;
  Bytes budget_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  Clock::time_point epoch_start_ = start_;
  std::int64_t samples_ = 0;
  std::int64_t shown_steps_ = 0;  // of this process: a resumed run has made others before
  MetricSums epoch_;              // so far
};

}  // namespace lowtide::cli
