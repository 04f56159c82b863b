// Timeline: when each node of some programs began and ended, in memory reserved beforehand.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/ids.h"

namespace lowtide::run {

using Clock = std::chrono::steady_clock;

struct TimelineEntry {
  std::uint32_t program = 0;  // as the caller numbers them
  std::uint32_t pass = 0;     // counts the programs entered, from 0
  graph::NodeId node;
  Clock::time_point begin;
  Clock::time_point end;
};

class Timeline {
 public:
  // Room for that many entries; further ones are dropped.
  explicit Timeline(std::size_t capacity) { entries_.reserve(capacity); }

  // Bytes that a timeline of that capacity takes.
  static Bytes bytes(std::size_t capacity) {
    return Bytes(static_cast<std::int64_t>(capacity * sizeof(TimelineEntry)));
  }

  void clear() {
    entries_.clear();
    passes_ = 0;
  }
  // Begins one execution of a program: the entries added from now on belong to it.
  void enter(std::uint32_t program) {
    program_ = program;
    ++passes_;
  }
  void add(graph::NodeId node, Clock::time_point begin, Clock::time_point end) {
    if (entries_.size() == entries_.capacity()) return;
    entries_.push_back({program_, passes_ - 1, node, begin, end});
  }
  [[nodiscard]] std::span<const TimelineEntry> entries() const { return entries_; }
  // From the first node's begin to the last one's end.
  [[nodiscard]] double seconds() const {
    if (entries_.empty()) return 0;
    return std::chrono::duration<double>(entries_.back().end - entries_.front().begin).count();
  }

 private:
  std::uint32_t program_ = 0;
  std::uint32_t passes_ = 0;
  std::vector<TimelineEntry> entries_;
};

}  // namespace lowtide::run
