// Gauge: what a schedule takes, read off in one walk backwards. A timeline knows the same and can
// be changed, but takes much longer to make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

class Gauge {
 public:
  explicit Gauge(const Problem& problem);

  // Bytes in use at most.
  [[nodiscard]] std::int64_t peak(const Choices& choices);
  // Whether these are no more than the limit: sooner known where they are.
  [[nodiscard]] bool fits(const Choices& choices, std::int64_t limit);
  [[nodiscard]] Candidate candidate(Choices choices);

 private:
  // A variant of a task. Its operands are indices of tensors: pairs of an output and the input that
  // it may take over, then what is written, then what is read.
  struct Way {
    double seconds = 0;
    double seconds_again = 0;
    std::int64_t workspace = 0;
    std::uint32_t pairs = 0;  // where these begin
    std::uint32_t writes = 0;
    std::uint32_t reads = 0;
    std::uint32_t end = 0;
  };
  struct Storage {
    std::int64_t bytes = 0;
    bool lasting = false;
    bool alive = false;  // read behind the place that the walk has reached
  };

  void add(const Variant& variant);
  [[nodiscard]] const Way& way(const Choices& choices, TaskId task) const {
    return ways_[first_ways_[task] + choices.variants[task]];
  }
  void sort_repetitions(const Choices& choices);
  [[nodiscard]] std::int64_t walk(const Choices& choices, std::int64_t stop);
  [[nodiscard]] std::int64_t step(const Way& way);

  std::vector<Way> ways_;
  core::IdVector<TaskId, std::size_t> first_ways_;
  std::vector<std::uint32_t> operands_;
  std::vector<Storage> storage_;
  std::int64_t live_ = 0;  // bytes of what is alive
  // Tasks that run again, by stage and then in the problem's order, and where each stage begins.
  std::vector<TaskId> again_;
  core::IdVector<TaskId, std::uint32_t> begins_;
};

}  // namespace lowtide::plan
