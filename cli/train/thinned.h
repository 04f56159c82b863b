// Thinned: a number of every step, in bounded memory however many steps there are.
#pragma once

#include <cstddef>
#include <vector>

namespace lowtide::cli {

// Keeps the first number and those at equal distances after it: all of them at first, then every
// second whenever there are too many; and the last one.
class Thinned {
 public:
  static constexpr std::size_t kMost = 4096;

  void add(double number);
  [[nodiscard]] const std::vector<double>& kept() const { return kept_; }
  // At most so many, two or more, the first and the last of all among them.
  [[nodiscard]] std::vector<double> few(std::size_t most) const;

 private:
  std::size_t seen_ = 0;
  std::size_t distance_ = 1;
  std::vector<double> kept_;
  double last_ = 0;
};

}  // namespace lowtide::cli
