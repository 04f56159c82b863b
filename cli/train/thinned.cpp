#include "cli/train/thinned.h"

namespace lowtide::cli {

void Thinned::add(double number) {
  last_ = number;
  if (seen_++ % distance_ != 0) return;
  if (kept_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kMost / 2);
    distance_ *= 2;
  }
  kept_.push_back(number);
}

std::vector<double> Thinned::few(std::size_t most) const {
  if (seen_ <= most) return kept_;
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < most; ++i) {
    result.push_back(kept_[i * (seen_ - 1) / (most - 1) / distance_]);
  }
  result.push_back(last_);
  return result;
}

}  // namespace lowtide::cli
