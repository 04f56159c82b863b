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

// Bytes in use at each step, from the stretches in which each copy of a tensor is.
class Stretches {
 public:
  explicit Stretches(const Problem& problem, std::size_t steps)
      : problem_(problem), open_(problem.tensors.size()), changes_(steps + 1, 0) {}

  void write(TensorId tensor, std::size_t step) {
    close(tensor);
    open_[tensor] = {step, step, true};
  }
  void read(TensorId tensor, std::size_t step) { open_[tensor].last = step; }
  void close(TensorId tensor) {
    Stretch& stretch = open_[tensor];
    if (!stretch.open) return;
    changes_[stretch.first] += problem_.tensors[tensor].bytes;
    changes_[stretch.last + 1] -= problem_.tensors[tensor].bytes;
    stretch.open = false;
  }
  // Of all that was closed.
  void add_to(std::vector<std::int64_t>& bytes) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += sum += changes_[i];
  }

 private:
  struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
    bool open = false;
  };
  const Problem& problem_;
  core::IdVector<TensorId, Stretch> open_;
  std::vector<std::int64_t> changes_;
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
  Stretches stretches(*problem_, times_.size());
  reserve_touches();
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    if (problem_->tensors[id].producer.valid()) continue;
    touches_[id].push_back({kStart, true});
    stretches.write(id, 0);
  }
  for (std::size_t step = 0; step < times_.size(); ++step) {
    const Time time = times_[step];
    const TaskId id = tasks_.emplace_back(task_at(time));
    if (!is_repetition(time)) firsts_.push_back(static_cast<std::uint32_t>(step));
    const Variant& variant = chosen(id);
    bytes_.push_back(variant.workspace);
    own_.push_back(variant.workspace);
    for (const TensorId read : variant.reads) {
      touches_[read].push_back({time, false});
      stretches.read(read, step);
    }
    for (const TensorId write : variant.writes) {
      touches_[write].push_back({time, true});
      stretches.write(write, step);
    }
  }
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    std::vector<Touch>& touches = touches_[id];
    if (problem_->tensors[id].lasting) {
      touches.push_back({kEnd, false});
      stretches.read(id, times_.size() - 1);
    }
    // What nothing reads is never there.
    if (!touches.empty() && touches.back().time != kStart) stretches.close(id);
  }
  stretches.add_to(bytes_);
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
  tasks_.reserve(times_.size());
  bytes_.reserve(times_.size());
  own_.reserve(times_.size());
}

bool Timeline::contains(Repetition what) const {
  const Time time = again(what);
  const std::size_t step = step_at(time);
  return step < times_.size() && times_[step] == time;
}

void Timeline::add(Repetition what) {
  const Time time = again(what);
  insert_step(time, what.task);
  touch_all(what.task, time);
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
  const auto has = [](const Variant& one, TensorId tensor) {
    return std::find(one.reads.begin(), one.reads.end(), tensor) != one.reads.end();
  };
  for (const Time time : times) {
    for (const TensorId read : old.reads) {
      if (!has(now, read)) remove_touch(read, time);
    }
  }
  variants_[task] = variant;
  for (const Time time : times) {
    for (const TensorId read : now.reads) {
      if (!has(old, read)) add_touch(read, {time, false});
    }
    const std::size_t step = step_at(time);
    bytes_[step] += now.workspace - own_[step];
    own_[step] = now.workspace;
    refresh(time);
  }
}

std::int64_t Timeline::peak() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

std::int64_t Timeline::excess(std::int64_t limit) const {
  std::int64_t sum = 0;
  for (const std::int64_t bytes : bytes_) sum += std::max<std::int64_t>(bytes - limit, 0);
  return sum;
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

void Timeline::insert_step(Time time, TaskId task) {
  const std::size_t step = step_at(time);
  // What stays between the steps before and after: all the former one has, less what ends there.
  const Time before = times_[step - 1];
  std::int64_t bytes = bytes_[step - 1] - own_[step - 1];
  const Variant& previous = chosen(tasks_[step - 1]);
  for (const std::vector<TensorId>* operands : {&previous.reads, &previous.writes}) {
    for (const TensorId tensor : *operands) {
      if (ends_at(tensor, before)) bytes -= problem_->tensors[tensor].bytes;
    }
  }
  const std::int64_t workspace = chosen(task).workspace;
  const auto at = static_cast<std::ptrdiff_t>(step);
  times_.insert(times_.begin() + at, time);
  tasks_.insert(tasks_.begin() + at, task);
  bytes_.insert(bytes_.begin() + at, bytes + workspace);
  own_.insert(own_.begin() + at, workspace);
  for (std::size_t i = stage(time).index(); i < firsts_.size(); ++i) ++firsts_[i];
}

void Timeline::erase_step(Time time) {
  const auto at = static_cast<std::ptrdiff_t>(step_at(time));
  times_.erase(times_.begin() + at);
  tasks_.erase(tasks_.begin() + at);
  bytes_.erase(bytes_.begin() + at);
  own_.erase(own_.begin() + at);
  for (std::size_t i = stage(time).index(); i < firsts_.size(); ++i) --firsts_[i];
}

// The copy that a touch at index `at` falls into, or follows: indices of its write and of its last
// touch before the next write.
std::pair<std::size_t, std::size_t> Timeline::copy_at(TensorId tensor, std::size_t at) const {
  const std::vector<Touch>& touches = touches_[tensor];
  std::size_t begin = at;
  while (!touches[begin].write) --begin;
  std::size_t end = at + 1;
  while (end < touches.size() && !touches[end].write) ++end;
  return {begin, end - 1};
}

void Timeline::add_touch(TensorId tensor, Touch touch) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::size_t at = touch_at(tensor, touch.time);
  const auto [begin, end] = copy_at(tensor, at - 1);
  const Time last = touches[end].time;
  const Time before = touches[at - 1].time;
  if (touch.write) {
    // One copy becomes two.
    if (last > touch.time) {
      paint(tensor, before, touch.time, -1, kOpen);
    } else {
      paint(tensor, touch.time, touch.time, 1, kClosed);
    }
  } else if (touch.time > last) {
    paint(tensor, last, touch.time, 1, kLeftOpen);
  }
  touches.insert(touches.begin() + static_cast<std::ptrdiff_t>(at), touch);
  refresh(before);
  refresh(touch.time);
}

void Timeline::remove_touch(TensorId tensor, Time time) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::size_t at = touch_at(tensor, time);
  const auto [begin, end] = copy_at(tensor, at);
  const Time before = touches[at - 1].time;
  if (touches[at].write) {
    if (end > at) {
      paint(tensor, before, time, 1, kOpen);
    } else {
      paint(tensor, time, time, -1, kClosed);
    }
  } else if (end == at) {
    paint(tensor, before, time, -1, kLeftOpen);
  }
  touches.erase(touches.begin() + static_cast<std::ptrdiff_t>(at));
  refresh(before);
  refresh(time);
}

void Timeline::touch_all(TaskId task, Time time) {
  for (const TensorId read : chosen(task).reads) add_touch(read, {time, false});
  for (const TensorId write : chosen(task).writes) add_touch(write, {time, true});
}

void Timeline::untouch_all(TaskId task, Time time) {
  for (const TensorId read : chosen(task).reads) remove_touch(read, time);
  for (const TensorId write : chosen(task).writes) remove_touch(write, time);
}

// Adds the tensor's bytes, or takes them away, from the step at `from` to that at `to`, with or
// without these two.
void Timeline::paint(TensorId tensor, Time from, Time to, std::int64_t sign, Ends ends) {
  const std::int64_t bytes = sign * problem_->tensors[tensor].bytes;
  std::size_t step = step_at(from) + (ends == kClosed || from == kStart ? 0 : 1);
  const std::size_t end = step_at(to) + (ends == kOpen ? 0 : 1);
  for (; step < end; ++step) bytes_[step] += bytes;
}

// Counts what a step has of its own again: workspace, less the inputs its outputs take over.
void Timeline::refresh(Time time) {
  if (time == kStart || time == kEnd) return;
  const Variant& variant = chosen(task_at(time));
  if (variant.in_place.empty()) return;
  const std::size_t step = step_at(time);
  std::int64_t own = variant.workspace;
  TensorId served;  // the output that took over an input last
  for (const InPlace& pair : variant.in_place) {
    if (pair.output == served || !ends_at(pair.input, time)) continue;
    served = pair.output;
    own -= problem_->tensors[pair.input].bytes;
  }
  bytes_[step] += own - own_[step];
  own_[step] = own;
}

}  // namespace lowtide::plan
