// Timeline: bytes in use, summed from the changes of each execution.
#include <algorithm>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Visits the executions of a stage in order: the time of each, and the bytes in use; returns those
// that stay in use after it. The stage before must be settled.
template <class Visit>
std::int64_t Timeline::visit_steps(std::size_t stage, Visit visit) const {
  const Stage& its = stages_[TaskId(stage)];
  std::int64_t bytes = stage == 0 ? 0 : left_[stage - 1];
  for (const Again& one : its.repetitions) {
    bytes += one.bytes.begins;
    visit(again({TaskId(stage), one.task}), bytes + one.bytes.own);
    bytes -= one.bytes.ends;
  }
  bytes += its.first.begins;
  visit(first(TaskId(stage)), bytes + its.first.own);
  return bytes - its.first.ends;
}

std::vector<Timeline::Step> Timeline::steps() const {
  settle(limit_);
  std::vector<Step> all;
  all.reserve(stages_.size() + repetitions_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    visit_steps(i, [&](Time time, std::int64_t bytes) { all.push_back({task_at(time), bytes}); });
  }
  return all;
}

std::int64_t Timeline::peak() const {
  settle(limit_);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    visit_steps(i, [&](Time, std::int64_t bytes) { most = std::max(most, bytes); });
  }
  return most;
}

std::int64_t Timeline::excess(std::int64_t limit) const {
  settle(limit);
  return excess_;
}

Timeline::Time Timeline::crowded(TaskId from, std::int64_t limit) const {
  settle(limit);
  const auto is_crowded = [](std::int64_t beyond) { return beyond != 0; };
  const auto start = beyond_.begin() + static_cast<std::ptrdiff_t>(from.index());
  auto found = std::find_if(start, beyond_.end(), is_crowded);
  if (found == beyond_.end()) found = std::find_if(beyond_.begin(), start, is_crowded);
  if (found == start && !is_crowded(*found)) return first(from);
  const auto at = static_cast<std::size_t>(found - beyond_.begin());
  Time crowded = kEnd;
  visit_steps(at, [&](Time time, std::int64_t bytes) {
    if (bytes > limit && crowded == kEnd) crowded = time;
  });
  return crowded;
}

// Each change of a copy's begin or end has a stage that is noted: after the last of those as many
// bytes are in use as before.
void Timeline::settle(std::int64_t limit) const {
  if (limit != limit_) {
    limit_ = limit;
    changed_begin_ = 0;
    changed_end_ = stages_.size();
  }
  for (std::size_t i = changed_begin_; i < changed_end_; ++i) {
    std::int64_t beyond = 0;
    left_[i] = visit_steps(
        i, [&](Time, std::int64_t bytes) { beyond += std::max<std::int64_t>(bytes - limit, 0); });
    excess_ += beyond - beyond_[i];
    beyond_[i] = beyond;
  }
  changed_begin_ = stages_.size();
  changed_end_ = 0;
}

}  // namespace lowtide::plan
