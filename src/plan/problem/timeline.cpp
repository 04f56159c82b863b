#include "plan/problem/timeline.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace lowtide::plan {

Choices fastest_choices(const Problem& problem) {
  Choices result{.repetitions = {},
                 .variants = core::IdVector<TaskId, std::uint8_t>(problem.tasks.size())};
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    result.variants[TaskId(i)] =
        static_cast<std::uint8_t>(fastest_variant(problem.tasks[TaskId(i)]));
  }
  return result;
}

bool allowed(const Problem& problem, Repetition what) {
  const Task& task = problem.tasks[what.task];
  return task.repeatable && what.task < what.stage &&
         (!task.deadline.valid() || what.stage <= task.deadline);
}

namespace {

// The stretch of steps in which the copy of a tensor that was written last is in use.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  bool open = false;
};

}  // namespace

Timeline::Timeline(const Problem& problem) : Timeline(problem, fastest_choices(problem)) {}

Timeline::Timeline(const Problem& problem, const Choices& choices)
    : problem_(&problem),
      bits_(static_cast<int>(std::bit_width(problem.tasks.size() + 1))),
      variants_(choices.variants),
      repetitions_(choices.repetitions),
      touches_(problem.tensors.size()) {
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    seconds_ += chosen(TaskId(i)).seconds;
    times_.push_back(first(TaskId(i)));
  }
  for (const Repetition& what : repetitions_) {
    seconds_ += chosen(what.task).seconds_again;
    times_.push_back(again(what));
  }
  std::sort(times_.begin(), times_.end());
  fill_steps();
}

// Touches and bytes, from the times.
void Timeline::fill_steps() {
  reserve_touches();
  core::IdVector<TensorId, Stretch> open(problem_->tensors.size());
  const auto close = [&](TensorId tensor) {
    const Stretch& stretch = open[tensor];
    if (!stretch.open || steps_.empty()) return;  // where views do it all there are no steps
    steps_[stretch.first].begins += problem_->tensors[tensor].bytes;
    steps_[stretch.last].ends += problem_->tensors[tensor].bytes;
  };
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    if (problem_->tensors[id].producer.valid()) continue;
    touches_[id].push_back({kStart, true});
    open[id] = {0, 0, true};
  }
  for (std::size_t step = 0; step < times_.size(); ++step) {
    const Time time = times_[step];
    const TaskId id = task_at(time);
    if (!is_repetition(time)) firsts_.push_back(static_cast<std::uint32_t>(step));
    const Variant& variant = chosen(id);
    for (const TensorId read : variant.reads) {
      touches_[read].push_back({time, false});
      open[read].last = step;
    }
    for (const TensorId write : variant.writes) {
      touches_[write].push_back({time, true});
      close(write);
      open[write] = {step, step, true};
    }
  }
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    std::vector<Touch>& touches = touches_[id];
    if (problem_->tensors[id].lasting) {
      touches.push_back({kEnd, false});
      open[id].last = times_.size() - 1;
    }
    // What nothing reads is never there.
    if (!touches.empty() && touches.back().time != kStart) close(id);
  }
  for (const Time time : times_) refresh(time);
}

// Each list of touches grows once.
void Timeline::reserve_touches() {
  core::IdVector<TensorId, std::uint32_t> counts(touches_.size(), 2);  // at the start and the end
  for (const Time time : times_) {
    const Variant& variant = chosen(task_at(time));
    for (const TensorId read : variant.reads) ++counts[read];
    for (const TensorId write : variant.writes) ++counts[write];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    touches_[TensorId(i)].reserve(counts[TensorId(i)]);
  firsts_.reserve(problem_->tasks.size());
  steps_.resize(times_.size());
}

bool Timeline::contains(Repetition what) const {
  const Time time = again(what);
  const std::size_t step = step_at(time);
  return step < times_.size() && times_[step] == time;
}

void Timeline::add(Repetition what) {
  const Time time = again(what);
  insert_step(time);
  touch_all(what.task, time);
  refresh(time);
  seconds_ += chosen(what.task).seconds_again;
  repetitions_.push_back(what);
}

void Timeline::remove(Repetition what) {
  const Time time = again(what);
  untouch_all(what.task, time);
  erase_step(time);
  seconds_ -= chosen(what.task).seconds_again;
  const auto found = std::find(repetitions_.rbegin(), repetitions_.rend(), what);
  *found = repetitions_.back();
  repetitions_.pop_back();
}

void Timeline::choose(TaskId task, std::uint8_t variant) {
  const Variant& old = chosen(task);
  const Variant& now = problem_->tasks[task].variants[variant];
  std::vector<Time> times = {first(task)};
  for (const Repetition& what : repetitions_) {
    if (what.task == task) times.push_back(again(what));
  }
  seconds_ += now.seconds - old.seconds;
  seconds_ += static_cast<double>(times.size() - 1) * (now.seconds_again - old.seconds_again);
  for (const Time time : times) {
    for (const TensorId read : old.reads) {
      if (!reads(now, read)) remove_touch(read, time);
    }
  }
  variants_[task] = variant;
  for (const Time time : times) {
    for (const TensorId read : now.reads) {
      if (!reads(old, read)) add_touch(read, {time, false});
    }
    refresh(time);
  }
}

std::int64_t Timeline::peak() const {
  const std::vector<std::int64_t>& bytes = bytes_by_step();
  return *std::max_element(bytes.begin(), bytes.end());
}

std::int64_t Timeline::excess(std::int64_t limit) const {
  std::int64_t sum = 0;
  for (const std::int64_t bytes : bytes_by_step()) sum += std::max<std::int64_t>(bytes - limit, 0);
  return sum;
}

const std::vector<std::int64_t>& Timeline::bytes_by_step() const {
  bytes_.resize(steps_.size());
  std::size_t step = settled_;
  std::int64_t ended = step == 0 ? 0 : steps_[step - 1].ends;
  std::int64_t copies = step == 0 ? 0 : bytes_[step - 1] - steps_[step - 1].own;
  for (; step < steps_.size(); ++step) {
    copies += steps_[step].begins - ended;
    bytes_[step] = copies + steps_[step].own;
    ended = steps_[step].ends;
  }
  settled_ = steps_.size();
  return bytes_;
}

std::size_t Timeline::touch_at(TensorId tensor, Time time) const {
  const std::vector<Touch>& touches = touches_[tensor];
  std::size_t i = 0;
  while (i < touches.size() && touches[i].time < time) ++i;
  return i;
}

Timeline::Time Timeline::written(TensorId tensor, Time time) const {
  std::size_t i = touch_at(tensor, time);
  while (!touches_[tensor][i].write) --i;
  return touches_[tensor][i].time;
}

bool Timeline::unread(Repetition what) const {
  const Time time = again(what);
  const std::vector<TensorId>& writes = chosen(what.task).writes;
  return std::all_of(writes.begin(), writes.end(),
                     [&](TensorId tensor) { return ends_at(tensor, time); });
}

// The first step at or after a time; the last one for kEnd.
std::size_t Timeline::step_at(Time time) const {
  if (time == kEnd) return times_.size() - 1;
  if (time == kStart) return 0;
  const std::size_t at = stage(time).index();
  const auto end = times_.begin() + static_cast<std::ptrdiff_t>(firsts_[at]);
  if (!is_repetition(time)) return firsts_[at];
  // The repetitions of a stage stand between the first executions of two tasks.
  const auto begin =
      at == 0 ? times_.begin() : times_.begin() + static_cast<std::ptrdiff_t>(firsts_[at - 1]);
  return static_cast<std::size_t>(std::lower_bound(begin, end, time) - times_.begin());
}

bool Timeline::ends_at(TensorId tensor, Time time) const {
  const std::size_t i = touch_at(tensor, time);
  const std::vector<Touch>& touches = touches_[tensor];
  return i + 1 >= touches.size() || touches[i + 1].write;
}

void Timeline::insert_step(Time time) {
  const auto at = static_cast<std::ptrdiff_t>(step_at(time));
  times_.insert(times_.begin() + at, time);
  steps_.insert(steps_.begin() + at, Step{});
  settled_ = std::min(settled_, static_cast<std::size_t>(at));
  for (std::size_t i = stage(time).index(); i < firsts_.size(); ++i) ++firsts_[i];
}

void Timeline::erase_step(Time time) {
  const auto at = static_cast<std::ptrdiff_t>(step_at(time));
  times_.erase(times_.begin() + at);
  steps_.erase(steps_.begin() + at);
  settled_ = std::min(settled_, static_cast<std::size_t>(at));
  for (std::size_t i = stage(time).index(); i < firsts_.size(); ++i) --firsts_[i];
}

// The copy that a touch at index `at` falls into, or follows: index of its last touch before the
// next write.
std::size_t Timeline::last_of_copy(TensorId tensor, std::size_t at) const {
  const std::vector<Touch>& touches = touches_[tensor];
  while (at + 1 < touches.size() && !touches[at + 1].write) ++at;
  return at;
}

// A copy at kStart is in use from the first step on once something reads it; any other from its
// write on. The caller refreshes the step of the touch itself.
void Timeline::add_touch(TensorId tensor, Touch touch) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::int64_t bytes = problem_->tensors[tensor].bytes;
  const std::size_t at = touch_at(tensor, touch.time);
  const Time last = touches[last_of_copy(tensor, at - 1)].time;
  const Time before = touches[at - 1].time;
  if (touch.write) {
    // One copy becomes two: the former ends before.
    begin(touch.time, bytes);
    if (last < touch.time) {
      end(touch.time, bytes);
    } else if (before == kStart) {
      begin(kStart, -bytes);
    } else {
      end(before, bytes);
    }
  } else if (last < touch.time) {
    if (last == kStart) {
      begin(kStart, bytes);
    } else {
      end(last, -bytes);
    }
    end(touch.time, bytes);
  }
  touches.insert(touches.begin() + static_cast<std::ptrdiff_t>(at), touch);
  refresh(before, tensor);
}

// The reverse.
void Timeline::remove_touch(TensorId tensor, Time time) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::int64_t bytes = problem_->tensors[tensor].bytes;
  const std::size_t at = touch_at(tensor, time);
  const bool is_last = last_of_copy(tensor, at) == at;
  const Time before = touches[at - 1].time;
  if (touches[at].write) {
    begin(time, -bytes);
    if (is_last) {
      end(time, -bytes);
    } else if (before == kStart) {
      begin(kStart, bytes);
    } else {
      end(before, -bytes);
    }
  } else if (is_last) {
    end(time, -bytes);
    if (before == kStart) {
      begin(kStart, -bytes);
    } else {
      end(before, bytes);
    }
  }
  touches.erase(touches.begin() + static_cast<std::ptrdiff_t>(at));
  refresh(before, tensor);
}

void Timeline::touch_all(TaskId task, Time time) {
  for (const TensorId read : chosen(task).reads) add_touch(read, {time, false});
  for (const TensorId write : chosen(task).writes) add_touch(write, {time, true});
}

void Timeline::untouch_all(TaskId task, Time time) {
  for (const TensorId read : chosen(task).reads) remove_touch(read, time);
  for (const TensorId write : chosen(task).writes) remove_touch(write, time);
}

// Counts what a step has of its own again: workspace, less the inputs its outputs take over.
void Timeline::refresh(Time time) {
  const Variant& variant = chosen(task_at(time));
  std::int64_t own = variant.workspace;
  TensorId served;  // the output that took over an input last
  for (const InPlace& pair : variant.in_place) {
    if (pair.output == served || !ends_at(pair.input, time)) continue;
    served = pair.output;
    own -= problem_->tensors[pair.input].bytes;
  }
  changing(step_at(time)).own = own;
}

// The same where the tensor may end or not end any more: nothing to do if it is not taken over.
void Timeline::refresh(Time time, TensorId changed) {
  if (time == kStart || time == kEnd) return;
  const std::vector<InPlace>& pairs = chosen(task_at(time)).in_place;
  if (std::any_of(pairs.begin(), pairs.end(),
                  [&](const InPlace& pair) { return pair.input == changed; })) {
    refresh(time);
  }
}

}  // namespace lowtide::plan
