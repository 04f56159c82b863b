// Timeline: bytes in use, summed from the changes of each execution.
#include <algorithm>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Visits the executions of a stage in order: the time of each, and the bytes in use. From those
// that are left by the stage before to those that are left by this one.
template <class Visit>
std::int64_t Timeline::visit_steps(std::size_t stage, std::int64_t bytes, Visit visit) const {
  const Stage& its = stages_[TaskId(stage)];
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
    visit_steps(i, left_before(i), [&](Time time, std::int64_t bytes) {
      all.push_back({task_at(time), bytes, time});
    });
  }
  return all;
}

std::int64_t Timeline::peak() const {
  settle(limit_);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    visit_steps(i, left_before(i), [&](Time, std::int64_t bytes) { most = std::max(most, bytes); });
  }
  return most;
}

std::int64_t Timeline::excess(std::int64_t limit) const {
  settle(limit);
  return excess_;
}

std::int64_t Timeline::excess_up_to(std::int64_t limit, std::int64_t most) const {
  if (limit != limit_) return excess(limit);
  std::int64_t excess = excess_;
  for (std::size_t i = sums_.changed_begin; i < sums_.changed_end; ++i) excess -= beyond_[i];
  std::int64_t left = left_before(sums_.changed_begin);
  for (std::size_t i = sums_.changed_begin; i < sums_.changed_end && excess <= most; ++i) {
    left = visit_steps(i, left, [&](Time, std::int64_t bytes) {
      excess += std::max<std::int64_t>(bytes - limit, 0);
    });
  }
  return excess;
}

void Timeline::took_back_to(const Sums& before) {
  if (sums_.summed == before.summed) sums_ = before;
}

Timeline::Time Timeline::crowded(TaskId from) const {
  if (excess_ == 0) return first(from);
  const auto is_crowded = [](std::int64_t beyond) { return beyond != 0; };
  const auto start = beyond_.begin() + static_cast<std::ptrdiff_t>(from.index());
  auto found = std::find_if(start, beyond_.end(), is_crowded);
  if (found == beyond_.end()) found = std::find_if(beyond_.begin(), start, is_crowded);
  const auto at = static_cast<std::size_t>(found - beyond_.begin());
  Time crowded = first(TaskId(at));
  visit_steps(at, left_before(at), [&](Time time, std::int64_t bytes) {
    if (bytes > limit_) crowded = std::min(crowded, time);
  });
  return crowded;
}

// Each change of a copy's begin or end has a stage that is noted: after the last of those as many
// bytes are in use as before.
void Timeline::settle(std::int64_t limit) const {
  if (limit == limit_ && sums_.changed_begin >= sums_.changed_end) return;
  if (limit != limit_) {
    limit_ = limit;
    sums_.changed_begin = 0;
    sums_.changed_end = stages_.size();
  }
  // In locals, as each stage waits for what the one before it left.
  std::int64_t left = left_before(sums_.changed_begin);
  std::int64_t excess = excess_;
  for (std::size_t i = sums_.changed_begin; i < sums_.changed_end; ++i) {
    std::int64_t beyond = 0;
    left = visit_steps(i, left, [&](Time, std::int64_t bytes) {
      beyond += std::max<std::int64_t>(bytes - limit, 0);
    });
    left_[i] = left;
    excess += beyond - beyond_[i];
    beyond_[i] = beyond;
  }
  excess_ = excess;
  sums_ = {stages_.size(), 0, sums_.summed + 1};
}

}  // namespace lowtide::plan
