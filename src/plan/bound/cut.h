// Cut: one step of a problem with the steps before and behind it cut apart: what is read behind it
// and was computed before must be in memory at the step or be computed again afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plan/bound/flow.h"
#include "plan/problem/problem.h"

namespace lowtide::plan {

class Cut {
 public:
  // At the first execution of `at`. The problem must outlive it. `seconds`: about those of all
  // repetitions together, to choose the unit of the network's capacities.
  Cut(const Problem& problem, TaskId at, double seconds);

  // The relaxed problem with a price on bytes: the least of the seconds of repetitions behind the
  // step and the price of the bytes at it beyond the limit.
  struct Answer {
    double value = 0;            // seconds; a bound at any price
    double slope = 0;            // bytes beyond the limit, of the answer
    std::vector<TensorId> kept;  // over the step, of those read behind it and not read at it
  };
  [[nodiscard]] Answer at_price(double price, std::int64_t limit);

  // The answer with the largest value over all prices (the first that is near enough), made to
  // fit: its bytes do not exceed the limit if any answer's do not.
  [[nodiscard]] Answer best(std::int64_t limit);

  [[nodiscard]] TaskId at() const { return at_; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct Keep {
    TensorId tensor;
    std::size_t repeat = kNone;  // what brings it back
    bool wanted = false;         // by a first execution
  };
  struct Repeat {
    double seconds = 0;
    std::vector<std::size_t> reads;  // indices into keeps_
  };
  // A smallest cut.
  struct Solved {
    double value = 0;  // seconds
    double bytes = 0;  // of what is kept
    std::vector<TensorId> kept;
  };

  [[nodiscard]] std::int64_t units(double seconds) const;
  [[nodiscard]] std::int64_t least_own(const Task& task) const;
  [[nodiscard]] Flow network(double price) const;
  const Solved& solved(double price);
  void find_wanted();

  const Problem& problem_;
  TaskId at_;
  double unit_;                             // seconds
  double start_price_ = 0;                  // seconds a byte
  core::IdVector<TensorId, char> present_;  // at the step in any case
  std::int64_t fixed_ = 0;
  std::vector<Keep> keeps_;
  std::vector<Repeat> repeats_;
  std::map<double, Solved> solved_;  // by price: the limit makes no difference to a cut
};

// The steps that are too large when everything is kept: the largest of each of `count` stretches
// of them.
std::vector<TaskId> crowded_steps(const Problem& problem, std::int64_t limit, int count);

// Seconds of every task that may run again, once.
double seconds_of_all_repetitions(const Problem& problem);

}  // namespace lowtide::plan
