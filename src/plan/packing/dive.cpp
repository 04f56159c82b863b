#include "plan/packing/dive.h"

#include <algorithm>

namespace lowtide::plan {

Dive::Dive(std::span<const Item> items) : sections_(items), offsets_(items.size()) {
  for (const Item& item : items) sizes_.push_back(item.size.count());
  waiting_.reserve(items.size());
}

std::int64_t Dive::bound() const {
  return *std::max_element(sections_.live.begin(), sections_.live.end());
}

std::int64_t Dive::run(std::span<const std::uint32_t> order, Aim aim) {
  to_come_ = sections_.live;
  waiting_.clear();
  std::int64_t lowest_end = INT64_MAX;
  for (const std::uint32_t item : order) {
    waiting_.push_back({.size = sizes_[item], .span = sections_.spans[item], .item = item});
    lowest_end = std::min(lowest_end, sizes_[item]);
  }
  std::int64_t height = 0;
  while (!waiting_.empty() && height < aim.stop) {
    const std::size_t chosen = choose(lowest_end, aim.capacity);
    height = std::max(height, waiting_[chosen].offset + waiting_[chosen].size);
    lowest_end = place(chosen);
  }
  return height;
}

std::size_t Dive::choose(std::int64_t lowest_end, std::int64_t capacity) {
  std::size_t first = waiting_.size();
  std::size_t i = 0;
  for (; i < waiting_.size(); ++i) {
    if (waiting_[i].offset >= lowest_end) continue;
    first = std::min(first, i);
    if (capacity == 0 || leaves_room(waiting_[i], capacity)) break;
  }
  work_ += static_cast<std::int64_t>(i);
  return i < waiting_.size() ? i : first;
}

bool Dive::leaves_room(const Waiting& one, std::int64_t capacity) const {
  const auto begin = to_come_.begin() + static_cast<std::ptrdiff_t>(one.span.first);
  const auto end = to_come_.begin() + static_cast<std::ptrdiff_t>(one.span.last) + 1;
  return std::all_of(begin, end, [&](std::int64_t more) { return one.offset + more <= capacity; });
}

// Returns where the lowest of the others would end.
std::int64_t Dive::place(std::size_t chosen) {
  const Waiting placed = waiting_[chosen];
  const std::int64_t top = placed.offset + placed.size;
  offsets_[placed.item] = placed.offset;
  for (std::size_t s = placed.span.first; s <= placed.span.last; ++s) to_come_[s] -= placed.size;
  std::int64_t lowest_end = INT64_MAX;
  const auto lift = [&](Waiting& one) {
    if (plan::meet(one.span, placed.span)) one.offset = std::max(one.offset, top);
    lowest_end = std::min(lowest_end, one.offset + one.size);
  };
  for (std::size_t i = 0; i < chosen; ++i) lift(waiting_[i]);
  for (std::size_t i = chosen + 1; i < waiting_.size(); ++i) {
    lift(waiting_[i]);
    waiting_[i - 1] = waiting_[i];
  }
  waiting_.pop_back();
  work_ += static_cast<std::int64_t>(waiting_.size());
  return lowest_end;
}

}  // namespace lowtide::plan
