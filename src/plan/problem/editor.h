// Editor: changes to a timeline that can be taken back together, and that leave no repetition
// behind which nobody reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

class Editor {
 public:
  // The timeline must outlive it, and change through it alone.
  explicit Editor(Timeline& line) : line_(line) {}

  void add(Repetition what);
  // And what it reads, instead of keeping that until then, and so on; wanted(), asked for each,
  // says whether.
  template <class Wanted>
  void add_with_inputs(Repetition what, Wanted wanted) {
    add(what);
    add_inputs(what, wanted);
  }
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

  template <class Wanted>
  void add_inputs(Repetition what, Wanted& wanted);
  [[nodiscard]] std::optional<Repetition> instead_of_keeping(TensorId input,
                                                             Repetition reader) const;
  void note(const Change& change);
  void prune(TensorId tensor, Timeline::Time time);

  Timeline& line_;
  std::vector<Change> log_;
  Timeline::Sums before_;  // the first change of the log
};

template <class Wanted>
void Editor::add_inputs(Repetition what, Wanted& wanted) {
  for (const TensorId read : line_.chosen(what.task).reads) {
    const std::optional<Repetition> also = instead_of_keeping(read, what);
    if (!also || !wanted()) continue;
    add(*also);
    add_inputs(*also, wanted);
  }
}

}  // namespace lowtide::plan
