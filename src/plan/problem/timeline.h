// Timeline: a schedule of a problem that can be changed one execution at a time, and that knows the
// bytes in use at every step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/problem/problem.h"

namespace lowtide::plan {

// A second or later execution of `task`, just before the first execution of `stage`. Repetitions
// of one stage run in the problem's order.
struct Repetition {
  TaskId stage;
  TaskId task;

  bool operator==(const Repetition&) const = default;
};

// What distinguishes one schedule of a problem from another.
struct Choices {
  std::vector<Repetition> repetitions;
  core::IdVector<TaskId, std::uint8_t> variants;
};

// Every task once, in its fastest variant.
Choices fastest_choices(const Problem& problem);

// Whether the repetition is one the problem allows.
bool allowed(const Problem& problem, Repetition what);

// A schedule and what it takes.
struct Candidate {
  Choices choices;
  double seconds = 0;
  std::int64_t peak = 0;  // bytes in use at most: a packing is at least this high
};

// Every set of repetitions is a valid schedule: a tensor stays from the execution that writes it to
// the last that reads it before it is written again, so that every read finds it. Only the bytes
// tell good sets from bad ones.
class Timeline {
 public:
  using Time = std::int64_t;  // orders executions; see first() and again()

  // Every task once, in its fastest variant.
  explicit Timeline(const Problem& problem);
  Timeline(const Problem& problem, const Choices& choices);

  [[nodiscard]] bool allowed(Repetition what) const { return plan::allowed(*problem_, what); }
  [[nodiscard]] bool contains(Repetition what) const;
  void add(Repetition what);     // allowed and not there yet
  void remove(Repetition what);  // there
  void choose(TaskId task, std::uint8_t variant);

  [[nodiscard]] const Problem& problem() const { return *problem_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] const std::vector<Repetition>& repetitions() const { return repetitions_; }
  [[nodiscard]] std::uint8_t variant(TaskId task) const { return variants_[task]; }
  [[nodiscard]] const Variant& chosen(TaskId task) const {
    return problem_->tasks[task].variants[variants_[task]];
  }
  [[nodiscard]] Choices choices() const { return {repetitions_, variants_}; }
  [[nodiscard]] Candidate candidate() const { return {choices(), seconds_, peak()}; }

  // Steps: the executions in time's order.
  [[nodiscard]] std::size_t steps() const { return times_.size(); }
  [[nodiscard]] Time time(std::size_t step) const { return times_[step]; }
  [[nodiscard]] TaskId task(std::size_t step) const { return task_at(times_[step]); }
  [[nodiscard]] std::int64_t bytes(std::size_t step) const { return bytes_by_step()[step]; }
  [[nodiscard]] std::int64_t peak() const;
  [[nodiscard]] std::int64_t excess(std::int64_t limit) const;  // summed over the steps above it

  [[nodiscard]] Time first(TaskId task) const {
    return (static_cast<Time>(task.index()) << bits_) | mask();
  }
  [[nodiscard]] Time again(Repetition what) const {
    return (static_cast<Time>(what.stage.index()) << bits_) | static_cast<Time>(what.task.index());
  }
  // The task and the stage of the execution at a time that is neither kStart nor kEnd.
  [[nodiscard]] TaskId stage(Time time) const {
    return TaskId(static_cast<std::size_t>(time >> bits_));
  }
  [[nodiscard]] TaskId task_at(Time time) const {
    return is_repetition(time) ? TaskId(static_cast<std::size_t>(time & mask())) : stage(time);
  }
  [[nodiscard]] bool is_repetition(Time time) const {
    return time >= 0 && time < kEnd && (time & mask()) != mask();
  }

  // A tensor's reads and writes in time's order. The first one is a write: that of its producer's
  // first execution, or at kStart. Lasting tensors are read at kEnd.
  struct Touch {
    Time time = 0;
    bool write = false;
  };
  static constexpr Time kStart = -1;
  static constexpr Time kEnd = INT64_MAX;
  [[nodiscard]] const std::vector<Touch>& touches(TensorId tensor) const {
    return touches_[tensor];
  }
  // Index of the tensor's first touch at or after `time`.
  [[nodiscard]] std::size_t touch_at(TensorId tensor, Time time) const;
  // The time at which the copy that is read or written at `time` was written.
  [[nodiscard]] Time written(TensorId tensor, Time time) const;
  // Whether nothing reads what the repetition writes.
  [[nodiscard]] bool unread(Repetition what) const;

 private:
  void fill_steps();
  void reserve_touches();
  [[nodiscard]] const std::vector<std::int64_t>& bytes_by_step() const;
  [[nodiscard]] Time mask() const { return (Time{1} << bits_) - 1; }
  [[nodiscard]] std::size_t step_at(Time time) const;
  [[nodiscard]] bool ends_at(TensorId tensor, Time time) const;
  [[nodiscard]] std::size_t last_of_copy(TensorId tensor, std::size_t at) const;
  void insert_step(Time time);
  void erase_step(Time time);
  void add_touch(TensorId tensor, Touch touch);
  void remove_touch(TensorId tensor, Time time);
  void touch_all(TaskId task, Time time);
  void untouch_all(TaskId task, Time time);
  void begin(Time time, std::int64_t bytes) { changing(step_at(time)).begins += bytes; }
  void end(Time time, std::int64_t bytes) { changing(step_at(time)).ends += bytes; }
  void refresh(Time time);
  void refresh(Time time, TensorId changed);

  // Bytes of one step. Changes are kept rather than sums, so that one copy that comes, goes or
  // lasts longer touches two steps and not all between them.
  struct Step {
    std::int64_t begins = 0;  // of copies that are in use from it on
    std::int64_t ends = 0;    // of copies that are in use for the last time
    std::int64_t own = 0;     // workspace less inputs taken over
  };
  Step& changing(std::size_t step) {
    settled_ = std::min(settled_, step);
    return steps_[step];
  }

  const Problem* problem_;
  int bits_;  // a time is a stage, and in the lower bits the task that runs again or ones
  core::IdVector<TaskId, std::uint8_t> variants_;
  std::vector<Repetition> repetitions_;  // in no order
  double seconds_ = 0;
  core::IdVector<TensorId, std::vector<Touch>> touches_;
  std::vector<std::uint32_t> firsts_;  // by task: the step of its first execution
  // By step.
  std::vector<Time> times_;
  std::vector<Step> steps_;
  mutable std::vector<std::int64_t> bytes_;  // in use; good for the first `settled_` steps
  mutable std::size_t settled_ = 0;
};

}  // namespace lowtide::plan
