// Curves: how training went, in as many points as a chart can show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lowtide/infer.h"
#include "lowtide/trainer.h"

namespace lowtide::cli {

// Means over stretches of steps of equal length, which doubles whenever there are too many; of
// validations then every second one goes.
class Curves {
 public:
  struct Point {
    std::int64_t step = 0;  // the last of its stretch
    double loss = 0;
    double lr = 0;
    double samples_per_second = 0;
  };

  struct Validation {
    std::int64_t step = 0;
    double loss = 0;
    std::map<std::string, double> metrics;
  };

  void add(const StepReport& step);
  // What followed the step of that number.
  void add(std::int64_t step, const EvalReport& validation);
  [[nodiscard]] std::vector<Point> points() const;
  [[nodiscard]] const std::vector<Validation>& validations() const { return validations_; }

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
  std::int64_t every_ = 1;  // so many validations make one that is kept
  std::int64_t seen_ = 0;
  std::vector<Validation> validations_;
};

}  // namespace lowtide::cli
