#include "cli/report/curves.h"

#include <algorithm>

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
