// Curves: how training went, in as many points as a chart can show.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/trainer.h"

namespace lowtide::cli {

// Means over stretches of steps of equal length, which doubles whenever there are too many.
class Curves {
 public:
  struct Point {
    std::int64_t step = 0;  // the last of its stretch
    double loss = 0;
    double lr = 0;
    double samples_per_second = 0;
  };

  void add(const StepReport& step);
  [[nodiscard]] std::vector<Point> points() const;

 private:
  struct Sum {
    std::int64_t last_step = 0;
    double loss = 0;
    double lr = 0;
    double seconds = 0;
    std::int64_t samples = 0;
    std::int64_t steps = 0;
  };

  std::int64_t length_ = 1;  // steps of a stretch
  std::vector<Sum> sums_;
};

}  // namespace lowtide::cli
