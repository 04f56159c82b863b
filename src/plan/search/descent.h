// Descent: the straight way from a schedule that takes too many bytes to one within a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/problem/editor.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Looks at the fullest step, and computes a tensor again that waits there, or has its reader do
// without it: what takes most away from the bytes beyond the limit for each second it costs. And so
// on; then takes back what has become needless. Where a walk meets by chance what helps, this
// compares, so few changes do for it; but it never goes uphill, and ends in the next valley.
class Descent {
 public:
  explicit Descent(const Problem& problem);

  // The schedule that it ends in; nothing where it does not get within the limit, in so many steps.
  const Timeline* go(const Choices& start, std::int64_t limit, std::int64_t steps);

 private:
  using Time = Timeline::Time;

  // Something to do about a tensor that waits for a reader.
  struct Offer {
    double gain = 0;  // of the bytes beyond, for each second: at most, about, or when tried
    TensorId tensor;
    Time reader = 0;
    std::size_t way = 0;  // kAgain, kWithInputs, or kVariants and which of the reader's variants
    bool weighed = false;
  };
  static constexpr std::size_t kAgain = 0;
  static constexpr std::size_t kWithInputs = 1;
  static constexpr std::size_t kVariants = 2;

  bool step(std::int64_t limit, std::int64_t beyond);
  Time sum_beyond(std::int64_t limit);
  [[nodiscard]] double most_taken(std::int64_t bytes, const Timeline::Wait& wait) const;
  void list_offers(Time time);
  bool weigh(Offer& offer, std::int64_t beyond);
  void add_gone(TensorId id, const Timeline::Touch& since);
  void add_needs(Repetition what, bool with_inputs);
  void add_difference(TaskId reader, const Variant& variant);
  [[nodiscard]] std::int64_t taken_until(Time reader);
  void apply(const Offer& offer);
  void take_back(std::int64_t limit);
  void keep_if_within(std::int64_t limit);

  Timeline line_;
  Editor editor_;
  std::vector<TensorId> droppable_;
  std::vector<Offer> offers_;  // at the step looked at
  // Of the steps beyond the limit: the times, the bytes that they are beyond it, and sums of these.
  std::vector<Time> times_;
  std::vector<std::int64_t> beyond_;
  std::vector<std::int64_t> until_;   // before each time
  std::vector<std::int64_t> sorted_;  // as beyond_, most first
  std::vector<std::int64_t> from_;    // from each of sorted_ on

  // Of the offer that is weighed: what would no longer wait for the reader, and with less than no
  // bytes what would wait for it; from when on.
  struct Waiting {
    std::int64_t bytes = 0;
    Time since = 0;
  };
  std::vector<Waiting> waiting_;
  std::vector<TensorId> needed_;     // by its repetitions
  double seconds_ = 0;               // that it costs
  std::vector<std::int64_t> taken_;  // by it, at each of times_
};

}  // namespace lowtide::plan
