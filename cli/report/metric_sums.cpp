#include "cli/report/metric_sums.h"

#include <algorithm>
#include <cmath>

namespace lowtide::cli {

void MetricSums::add(const StepReport& step) {
  loss_ += step.loss * step.loss_weight;
  weight_ += step.loss_weight;
  counted_ += step.counted;
  correct_ += std::max<std::int64_t>(step.correct, 0);
  top_five_ += step.top_five.value_or(0);
  absolute_error_ += step.absolute_error.value_or(0) * step.loss_weight;
  has_correct_ = step.correct >= 0;
  has_top_five_ = step.top_five.has_value();
  has_absolute_error_ = step.absolute_error.has_value();
  of_tokens_ = step.of_tokens;
}

double MetricSums::loss() const { return weight_ > 0 ? loss_ / weight_ : 0.0; }

std::map<std::string, double> MetricSums::metrics() const {
  std::map<std::string, double> metrics;
  if (counted_ == 0 || weight_ <= 0) return metrics;
  const auto share = [&](std::int64_t hits) {
    return static_cast<double>(hits) / static_cast<double>(counted_);
  };
  if (has_correct_) metrics["accuracy"] = share(correct_);
  if (has_top_five_) metrics["top_5_accuracy"] = share(top_five_);
  if (has_absolute_error_) metrics["mae"] = absolute_error_ / weight_;
  if (of_tokens_) metrics["perplexity"] = std::exp(loss());
  return metrics;
}

std::map<std::string, double> step_metrics(const StepReport& step) {
  MetricSums sums;
  sums.add(step);
  return sums.metrics();
}

}  // namespace lowtide::cli
