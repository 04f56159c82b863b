// MetricSums: what some steps add up to, as if they had been one batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lowtide/trainer.h"

namespace lowtide::cli {

class MetricSums {
 public:
  void add(const StepReport& step);

  // The mean over all that counts, not the mean of the steps' means; 0 where nothing does.
  [[nodiscard]] double loss() const;
  // Under the names of EvalReport's metrics.
  [[nodiscard]] std::map<std::string, double> metrics() const;

 private:
  double loss_ = 0;
  double weight_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t correct_ = 0;
  std::int64_t top_five_ = 0;
  double absolute_error_ = 0;
  bool has_correct_ = false;
  bool has_top_five_ = false;
  bool has_absolute_error_ = false;
  bool of_tokens_ = false;
};

// Those of one step.
std::map<std::string, double> step_metrics(const StepReport& step);

}  // namespace lowtide::cli
