// RepeatedTimes: what one kernel takes, from several runs on a machine that may be busy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace lowtide::train {

// The fastest run counts, as other work only ever makes runs longer. One that no other confirms may
// still be far from what the kernel takes alone: then more runs are wanted.
class RepeatedTimes {
 public:
  void add(double seconds) {
    runs_.insert(std::upper_bound(runs_.begin(), runs_.end(), seconds), seconds);
  }
  // Whether no further run is needed, or would help.
  [[nodiscard]] bool settled() const {
    return runs_.size() >= kMost || (runs_.size() >= kFew && confirmed());
  }
  [[nodiscard]] std::optional<double> seconds() const {
    return runs_.empty() ? std::nullopt : std::optional(runs_.front());
  }

  static constexpr std::size_t kFew = 3;    // runs where they agree
  static constexpr std::size_t kMost = 12;  // and where they do not

 private:
  static constexpr double kSpread = 2;  // of two times that agree

  [[nodiscard]] bool confirmed() const {
    return runs_.size() > 1 && runs_[1] <= kSpread * runs_[0];
  }

  std::vector<double> runs_;  // fastest first
};

}  // namespace lowtide::train
