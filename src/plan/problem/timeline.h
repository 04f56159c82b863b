// Timeline: a schedule of a problem that can be changed one execution at a time, and that knows the
// bytes in use at every step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plan/problem/choices.h"

namespace lowtide::plan {

// Every set of repetitions is a valid schedule: a tensor stays from the execution that writes it to
// the last that reads it before it is written again, so that every read finds it. Only the bytes
// tell good sets from bad ones.
class Timeline {
 public:
  using Time = std::int64_t;  // orders executions; see first() and again()

  // Every task once, in its fastest variant.
  explicit Timeline(const Problem& problem);
  Timeline(const Problem& problem, const Choices& choices);

  // Becomes what the choices say; cheaper than a new one.
  void assign(const Choices& choices);

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

  // An execution, and the bytes in use during it.
  struct Step {
    TaskId task;
    std::int64_t bytes = 0;
    Time time = 0;
  };
  [[nodiscard]] std::vector<Step> steps() const;  // in time's order
  [[nodiscard]] std::int64_t peak() const;
  [[nodiscard]] std::int64_t excess(std::int64_t limit) const;  // summed over the steps above it
  // The same, or something above `most` where it is. For changes that will mostly be taken back:
  // nothing is noted that would have to be summed again after that.
  [[nodiscard]] std::int64_t excess_up_to(std::int64_t limit, std::int64_t most) const;
  // The first step above the limit from those of a stage on, going round, as of the last excess();
  // the first execution of the stage's own task where there is none.
  [[nodiscard]] Time crowded(TaskId from) const;

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
  // The last touch before `time`, of which there must be one, and whether its copy is read after.
  struct Around {
    Touch before;
    bool read_later = false;
  };
  [[nodiscard]] Around around(TensorId tensor, Time time) const;
  // Where a tensor is in memory at `time` without being touched: from which touch to which read.
  struct Wait {
    Time since = 0;
    Time reader = 0;
  };
  [[nodiscard]] std::optional<Wait> wait(TensorId tensor, Time time) const;
  // The time at which the copy that is read or written at `time` was written.
  [[nodiscard]] Time written(TensorId tensor, Time time) const;
  // Whether nothing reads what the repetition writes.
  [[nodiscard]] bool unread(Repetition what) const;

  // Which sums over the steps hold. After changes that were all taken back, those of before them
  // hold again.
  struct Sums {
    std::size_t changed_begin = 0;  // stages that changed since the last summing
    std::size_t changed_end = 0;
    std::uint64_t summed = 0;  // how often
  };
  [[nodiscard]] Sums sums() const { return sums_; }
  void took_back_to(const Sums& before);

 private:
  // Bytes of one execution. Changes are kept rather than sums, so that one copy that comes, goes or
  // lasts longer touches two executions and not all between them.
  struct Bytes {
    std::int64_t begins = 0;  // of copies that are in use from it on
    std::int64_t ends = 0;    // of copies that are in use for the last time
    std::int64_t own = 0;     // workspace less inputs taken over
  };
  struct Again {
    TaskId task;
    std::uint32_t index = 0;  // among repetitions()
    Bytes bytes;
  };
  // What happens up to the first execution of a task, from that of the task before it on.
  struct Stage {
    std::vector<Again> repetitions;  // in the problem's order
    Bytes first;
  };

  void fill();
  void reserve_touches(const Choices& choices);
  [[nodiscard]] std::vector<Time> times() const;
  [[nodiscard]] std::vector<Time> times_of(TaskId task) const;
  void settle(std::int64_t limit) const;
  template <class Visit>
  std::int64_t visit_steps(std::size_t stage, std::int64_t bytes, Visit visit) const;
  [[nodiscard]] std::int64_t left_before(std::size_t stage) const {
    return stage == 0 ? 0 : left_[stage - 1];
  }
  [[nodiscard]] Time mask() const { return (Time{1} << bits_) - 1; }
  [[nodiscard]] std::vector<Again>::const_iterator find(Repetition what) const;
  [[nodiscard]] std::vector<Again>::iterator find(Repetition what);
  [[nodiscard]] TaskId stage_of(Time time) const;
  Bytes& bytes_at(Time time);
  Bytes& changing(Time time);
  void note_change(std::size_t stage);
  [[nodiscard]] bool ends_at(TensorId tensor, Time time) const;
  [[nodiscard]] std::size_t last_of_copy(TensorId tensor, std::size_t at) const;
  void add_touch(TensorId tensor, Touch touch, Bytes& here);
  void remove_touch(TensorId tensor, Time time, Bytes& here);
  void begin(Time time, std::int64_t bytes) { changing(time).begins += bytes; }
  void end(Time time, std::int64_t bytes) { changing(time).ends += bytes; }
  [[nodiscard]] std::int64_t own_bytes(Time time) const;
  void refresh(Time time);
  void refresh(Time time, TensorId changed);

  const Problem* problem_;
  int bits_;  // a time is a stage, and in the lower bits the task that runs again or ones
  core::IdVector<TaskId, std::uint8_t> variants_;
  std::vector<Repetition> repetitions_;  // in no order
  double seconds_ = 0;
  core::IdVector<TensorId, std::vector<Touch>> touches_;
  core::IdVector<TaskId, Stage> stages_;
  // As of the last settle(), by stage: bytes of copies that stay in use after it, and those beyond
  // the limit, summed over its executions.
  mutable std::vector<std::int64_t> left_;
  mutable std::vector<std::int64_t> beyond_;
  mutable Sums sums_;
  mutable std::int64_t limit_ = 0;
  mutable std::int64_t excess_ = 0;  // the sum of beyond_
};

}  // namespace lowtide::plan
