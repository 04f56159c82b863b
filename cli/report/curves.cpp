#include "cli/report/curves.h"

#include <algorithm>
#include <utility>

namespace lowtide::cli {

void Curves::add(const StepReport& step) {
  constexpr std::size_t kMost = 2000;
  if (sums_.empty()) sums_.reserve(kMost);
  if (sums_.empty() || sums_.back().steps == length_) {
    if (sums_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) {
        Sum sum = sums_[2 * i + 1];
        const Sum& before = sums_[2 * i];
        sum.loss += before.loss;
        sum.lr += before.lr;
        sum.seconds += before.seconds;
        sum.samples += before.samples;
        sum.steps += before.steps;
        sums_[i] = sum;
      }
      sums_.resize(kMost / 2);
      length_ *= 2;
    }
    sums_.emplace_back();
  }
  Sum& sum = sums_.back();
  sum.last_step = step.step;
  sum.loss += step.loss;
  sum.lr += step.lr;
  sum.seconds += step.seconds;
  sum.samples += step.samples;
  ++sum.steps;
}

void Curves::add(std::int64_t step, const EvalReport& validation) {
  constexpr std::size_t kMost = 500;
  if (validations_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      validations_[i] = std::move(validations_[2 * i + 1]);
    }
    validations_.resize(kMost / 2);
    every_ *= 2;
  }
  if (++seen_ % every_ == 0) validations_.push_back({step, validation.loss, validation.metrics});
}

std::vector<Curves::Point> Curves::points() const {
  std::vector<Point> points;
  for (const Sum& sum : sums_) {
    const auto steps = static_cast<double>(sum.steps);
    points.push_back({sum.last_step, sum.loss / steps, sum.lr / steps,
                      static_cast<double>(sum.samples) / std::max(sum.seconds, 1e-9)});
  }
  return points;
}

}  // namespace lowtide::cli
