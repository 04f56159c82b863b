// Editor: changes to a timeline that can be taken back together, and that leave no repetition
// behind which nobody reads.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

class Editor {
 public:
  // The timeline must outlive it, and change through it alone.
  explicit Editor(Timeline& line) : line_(line) {}

  void add(Repetition what);
  void remove(Repetition what);
  void choose(TaskId task, std::uint8_t variant);

  [[nodiscard]] bool changed() const { return !log_.empty(); }
  void commit() { log_.clear(); }
  void undo();  // back to the last commit

 private:
  enum class Kind : std::uint8_t { kAdded, kRemoved, kChosen };
  struct Change {
    Kind kind = Kind::kAdded;
    std::uint8_t variant = 0;  // the one before
    Repetition what;
  };

  void note(const Change& change);
  void prune(TensorId tensor, Timeline::Time time);

  Timeline& line_;
  std::vector<Change> log_;
  Timeline::Sums before_;  // the first change of the log
};

}  // namespace lowtide::plan
