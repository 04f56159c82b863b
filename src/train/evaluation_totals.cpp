#include "train/evaluation_totals.h"

#include <cmath>
#include <map>
#include <string>

#include "train/batch_feed.h"

namespace lowtide::train {

void EvaluationTotals::add(const Unit& unit, const Loss& loss, const data::Batch& batch) {
  std::int64_t counted = 0;
  const float normalizer = loss_normalizer(loss, batch, counted);
  feed_pass(unit, batch, 0, normalizer);
  unit.program->step({});
  if (normalizer > 0) {
    loss_ += read_scalar<double>(unit, unit.pass.loss) / static_cast<double>(normalizer);
    weight_ += 1.0 / static_cast<double>(normalizer);
    if (unit.pass.absolute_error.valid()) {
      absolute_error_ +=
          read_scalar<double>(unit, unit.pass.absolute_error) / static_cast<double>(normalizer);
    }
  }
  counted_ += counted;
  if (unit.pass.correct.valid()) {
    correct_ += read_scalar<std::int64_t>(unit, unit.pass.correct);
  }
  if (unit.pass.top_five.valid()) {
    top_five_ += read_scalar<std::int64_t>(unit, unit.pass.top_five);
  }
}

EvalReport EvaluationTotals::report(const PassGraph& pass, const Loss& loss) const {
  EvalReport report;
  report.loss = weight_ > 0 ? loss_ / weight_ : 0.0;
  if (std::isnan(report.loss)) report.loss = NAN;  // one without a sign, which would be printed
  std::map<std::string, double>& metrics = report.metrics;
  const auto share = [&](std::int64_t hits) {
    return static_cast<double>(hits) / static_cast<double>(counted_);
  };
  if (pass.correct.valid() && counted_ > 0) metrics["accuracy"] = share(correct_);
  if (pass.top_five.valid() && counted_ > 0) {
    metrics["top_5_accuracy"] = share(top_five_);
  }
  if (weight_ <= 0) return report;
  if (pass.absolute_error.valid()) metrics["mae"] = absolute_error_ / weight_;
  if (loss.has_perplexity()) metrics["perplexity"] = std::exp(report.loss);
  return report;
}

}  // namespace lowtide::train
