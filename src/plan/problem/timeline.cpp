#include "plan/problem/timeline.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace lowtide::plan {

namespace {

// The copy of a tensor that was written last: its first use, and its last one so far.
struct Copy {
  Timeline::Time first = 0;
  Timeline::Time last = 0;
  bool open = false;
};

}  // namespace

Timeline::Timeline(const Problem& problem) : Timeline(problem, fastest_choices(problem)) {}

Timeline::Timeline(const Problem& problem, const Choices& choices)
    : problem_(&problem),
      bits_(static_cast<int>(std::bit_width(problem.tasks.size() + 1))),
      touches_(problem.tensors.size()),
      stages_(problem.tasks.size()),
      left_(problem.tasks.size()),
      beyond_(problem.tasks.size()) {
  reserve_touches(choices);
  assign(choices);
}

void Timeline::assign(const Choices& choices) {
  variants_ = choices.variants;
  repetitions_ = choices.repetitions;
  seconds_ = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    seconds_ += chosen(TaskId(i)).seconds;
    stages_[TaskId(i)].repetitions.clear();
    stages_[TaskId(i)].first = {};
  }
  for (std::size_t i = 0; i < repetitions_.size(); ++i) {
    const Repetition what = repetitions_[i];
    seconds_ += chosen(what.task).seconds_again;
    stages_[what.stage].repetitions.push_back({what.task, static_cast<std::uint32_t>(i), {}});
  }
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::vector<Again>& all = stages_[TaskId(i)].repetitions;
    std::sort(all.begin(), all.end(),
              [](const Again& a, const Again& b) { return a.task < b.task; });
  }
  for (std::size_t i = 0; i < touches_.size(); ++i) touches_[TensorId(i)].clear();
  fill();
  sums_.changed_begin = 0;
  sums_.changed_end = stages_.size();
}

std::vector<Timeline::Time> Timeline::times() const {
  std::vector<Time> times;
  times.reserve(stages_.size() + repetitions_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (const Again& one : stages_[TaskId(i)].repetitions) {
      times.push_back(again({TaskId(i), one.task}));
    }
    times.push_back(first(TaskId(i)));
  }
  return times;
}

// Touches and bytes.
void Timeline::fill() {
  const std::vector<Time> times = this->times();
  core::IdVector<TensorId, Copy> copies(problem_->tensors.size());
  const auto close = [&](TensorId tensor) {
    const Copy& copy = copies[tensor];
    if (!copy.open || times.empty()) return;  // where views do it all there are no steps
    begin(copy.first, problem_->tensors[tensor].bytes);
    end(copy.last, problem_->tensors[tensor].bytes);
  };
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    if (problem_->tensors[id].producer.valid()) continue;
    touches_[id].push_back({kStart, true});
    copies[id] = {kStart, kStart, true};
  }
  for (const Time time : times) {
    const Variant& variant = chosen(task_at(time));
    for (const TensorId read : variant.reads) {
      touches_[read].push_back({time, false});
      copies[read].last = time;
    }
    for (const TensorId write : variant.writes) {
      touches_[write].push_back({time, true});
      close(write);
      copies[write] = {time, time, true};
    }
  }
  for (std::size_t i = 0; i < problem_->tensors.size(); ++i) {
    const TensorId id(i);
    std::vector<Touch>& touches = touches_[id];
    if (problem_->tensors[id].lasting) {
      touches.push_back({kEnd, false});
      copies[id].last = kEnd;
    }
    // What nothing reads is never there.
    if (!touches.empty() && touches.back().time != kStart) close(id);
  }
  for (const Time time : times) refresh(time);
}

// Each list of touches grows once.
void Timeline::reserve_touches(const Choices& choices) {
  core::IdVector<TensorId, std::uint32_t> counts(touches_.size(), 2);  // at the start and the end
  for (const TaskId task : executions(choices)) {
    const Variant& variant = problem_->tasks[task].variants[choices.variants[task]];
    for (const TensorId read : variant.reads) ++counts[read];
    for (const TensorId write : variant.writes) ++counts[write];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    touches_[TensorId(i)].reserve(counts[TensorId(i)]);
}

// Where the repetition is among those of its stage, or belongs.
std::vector<Timeline::Again>::const_iterator Timeline::find(Repetition what) const {
  const std::vector<Again>& all = stages_[what.stage].repetitions;
  return std::lower_bound(all.begin(), all.end(), what.task,
                          [](const Again& one, TaskId task) { return one.task < task; });
}

std::vector<Timeline::Again>::iterator Timeline::find(Repetition what) {
  std::vector<Again>& all = stages_[what.stage].repetitions;
  return all.begin() + (std::as_const(*this).find(what) - all.cbegin());
}

bool Timeline::contains(Repetition what) const {
  const auto found = find(what);
  return found != stages_[what.stage].repetitions.end() && found->task == what.task;
}

void Timeline::add(Repetition what) {
  const auto index = static_cast<std::uint32_t>(repetitions_.size());
  Bytes& here = stages_[what.stage].repetitions.insert(find(what), {what.task, index, {}})->bytes;
  const Time time = again(what);
  note_change(what.stage.index());
  for (const TensorId read : chosen(what.task).reads) add_touch(read, {time, false}, here);
  for (const TensorId write : chosen(what.task).writes) add_touch(write, {time, true}, here);
  here.own = own_bytes(time);
  seconds_ += chosen(what.task).seconds_again;
  repetitions_.push_back(what);
}

void Timeline::remove(Repetition what) {
  const Time time = again(what);
  const auto found = find(what);
  const std::uint32_t index = found->index;
  note_change(what.stage.index());
  for (const TensorId read : chosen(what.task).reads) remove_touch(read, time, found->bytes);
  for (const TensorId write : chosen(what.task).writes) remove_touch(write, time, found->bytes);
  stages_[what.stage].repetitions.erase(found);
  seconds_ -= chosen(what.task).seconds_again;
  const Repetition last = repetitions_.back();
  repetitions_.pop_back();
  if (last == what) return;
  repetitions_[index] = last;
  find(last)->index = index;
}

// Of all executions of the task.
std::vector<Timeline::Time> Timeline::times_of(TaskId task) const {
  std::vector<Time> times;
  const std::vector<TensorId>& writes = chosen(task).writes;
  if (writes.empty()) {
    times.push_back(first(task));
    for (const Repetition& what : repetitions_) {
      if (what.task == task) times.push_back(again(what));
    }
    return times;
  }
  for (const Touch& touch : touches_[writes.front()]) {
    if (touch.write) times.push_back(touch.time);
  }
  return times;
}

void Timeline::choose(TaskId task, std::uint8_t variant) {
  const Variant& old = chosen(task);
  const Variant& now = problem_->tasks[task].variants[variant];
  const std::vector<Time> times = times_of(task);
  seconds_ += now.seconds - old.seconds;
  seconds_ += static_cast<double>(times.size() - 1) * (now.seconds_again - old.seconds_again);
  for (const Time time : times) {
    for (const TensorId read : old.reads) {
      if (!reads(now, read)) remove_touch(read, time, changing(time));
    }
  }
  variants_[task] = variant;
  for (const Time time : times) {
    for (const TensorId read : now.reads) {
      if (!reads(old, read)) add_touch(read, {time, false}, changing(time));
    }
    refresh(time);
  }
}

std::size_t Timeline::touch_at(TensorId tensor, Time time) const {
  const std::vector<Touch>& touches = touches_[tensor];
  std::size_t i = 0;
  while (i < touches.size() && touches[i].time < time) ++i;
  return i;
}

Timeline::Around Timeline::around(TensorId tensor, Time time) const {
  const std::vector<Touch>& touches = touches_[tensor];
  const std::size_t at = touch_at(tensor, time);
  const std::size_t next = at < touches.size() && touches[at].time == time ? at + 1 : at;
  return {touches[at - 1], next < touches.size() && !touches[next].write};
}

std::optional<Timeline::Wait> Timeline::wait(TensorId tensor, Time time) const {
  const std::vector<Touch>& touches = touches_[tensor];
  const std::size_t next = touch_at(tensor, time);
  if (next == 0 || next >= touches.size() || touches[next].write) return std::nullopt;
  if (touches[next].time == time) return std::nullopt;
  return Wait{touches[next - 1].time, touches[next].time};
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

// The first for kStart and the last one for kEnd.
TaskId Timeline::stage_of(Time time) const {
  if (time == kStart) return TaskId(std::size_t{0});
  return time == kEnd ? TaskId(stages_.size() - 1) : stage(time);
}

Timeline::Bytes& Timeline::bytes_at(Time time) {
  const TaskId at = stage_of(time);
  return is_repetition(time) ? find({at, task_at(time)})->bytes : stages_[at].first;
}

Timeline::Bytes& Timeline::changing(Time time) {
  note_change(stage_of(time).index());
  return bytes_at(time);
}

void Timeline::note_change(std::size_t stage) {
  sums_.changed_begin = std::min(sums_.changed_begin, stage);
  sums_.changed_end = std::max(sums_.changed_end, stage + 1);
}

bool Timeline::ends_at(TensorId tensor, Time time) const {
  const std::size_t i = touch_at(tensor, time);
  const std::vector<Touch>& touches = touches_[tensor];
  return i + 1 >= touches.size() || touches[i + 1].write;
}

// The copy that a touch at index `at` falls into, or follows: index of its last touch before the
// next write.
std::size_t Timeline::last_of_copy(TensorId tensor, std::size_t at) const {
  const std::vector<Touch>& touches = touches_[tensor];
  while (at + 1 < touches.size() && !touches[at + 1].write) ++at;
  return at;
}

// `here` are the bytes of the execution that touches, whose stage is noted as changed and whose own
// bytes are the caller's to count again. A copy at kStart is in use from the first step on once
// something reads it; any other from its write on.
void Timeline::add_touch(TensorId tensor, Touch touch, Bytes& here) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::int64_t bytes = problem_->tensors[tensor].bytes;
  const std::size_t at = touch_at(tensor, touch.time);
  const Time last = touches[last_of_copy(tensor, at - 1)].time;
  const Time before = touches[at - 1].time;
  if (touch.write) {
    // One copy becomes two: the former ends before.
    here.begins += bytes;
    if (last < touch.time) {
      here.ends += bytes;
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
    here.ends += bytes;
  }
  touches.insert(touches.begin() + static_cast<std::ptrdiff_t>(at), touch);
  // Only then does what was before become the last of its copy, or is that no more.
  if (touch.write == (last > touch.time)) refresh(before, tensor);
}

// The reverse.
void Timeline::remove_touch(TensorId tensor, Time time, Bytes& here) {
  std::vector<Touch>& touches = touches_[tensor];
  const std::int64_t bytes = problem_->tensors[tensor].bytes;
  const std::size_t at = touch_at(tensor, time);
  const bool is_last = last_of_copy(tensor, at) == at;
  const Time before = touches[at - 1].time;
  if (touches[at].write) {
    here.begins -= bytes;
    if (is_last) {
      here.ends -= bytes;
    } else if (before == kStart) {
      begin(kStart, bytes);
    } else {
      end(before, -bytes);
    }
  } else if (is_last) {
    here.ends -= bytes;
    if (before == kStart) {
      begin(kStart, -bytes);
    } else {
      end(before, bytes);
    }
  }
  const bool write = touches[at].write;
  touches.erase(touches.begin() + static_cast<std::ptrdiff_t>(at));
  if (write != is_last) refresh(before, tensor);
}

// What a step has of its own: workspace, less the inputs its outputs take over.
std::int64_t Timeline::own_bytes(Time time) const {
  const Variant& variant = chosen(task_at(time));
  std::int64_t own = variant.workspace;
  TensorId served;  // the output that took over an input last
  for (const InPlace& pair : variant.in_place) {
    if (pair.output == served || !ends_at(pair.input, time)) continue;
    served = pair.output;
    own -= problem_->tensors[pair.input].bytes;
  }
  return own;
}

void Timeline::refresh(Time time) {
  const std::int64_t own = own_bytes(time);
  if (bytes_at(time).own != own) changing(time).own = own;
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
