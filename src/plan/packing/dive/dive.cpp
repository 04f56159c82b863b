#include "plan/packing/dive/dive.h"

#include <algorithm>
#include <functional>

namespace lowtide::plan {

namespace {

std::vector<std::int64_t> sizes(std::span<const Item> items) {
  std::vector<std::int64_t> result;
  for (const Item& item : items) result.push_back(item.size.count());
  return result;
}

}  // namespace

Dive::Dive(std::span<const Item> items)
    : sections_(items),
      sizes_(sizes(items)),
      offsets_(items.size()),
      waiting_(sections_.spans, sizes_) {}

std::int64_t Dive::bound() const {
  return *std::max_element(sections_.live.begin(), sections_.live.end());
}

std::int64_t Dive::run(std::span<const std::uint32_t> order, Aim aim) {
  to_come_ = sections_.live;
  order_ = order;
  waiting_.start(order);
  std::int64_t height = 0;
  while (!waiting_.empty() && height < aim.stop) {
    const std::size_t rank = choose(aim.capacity);
    if (aim.capacity > 0) take_from_what_is_to_come(order_[rank]);
    height = std::max(height, place(rank));
  }
  return height;
}

// The work is that of looking at one after another, so that it says nothing of how they are kept.
std::size_t Dive::choose(std::int64_t capacity) {
  const std::int64_t lowest_end = waiting_.lowest_end();
  if (capacity > 0) return choose_with_room(lowest_end, capacity);
  const std::size_t rank = waiting_.first_below(lowest_end);
  work_ += static_cast<std::int64_t>(waiting_.before(rank));
  return rank;
}

std::size_t Dive::choose_with_room(std::int64_t lowest_end, std::int64_t capacity) {
  std::vector<std::size_t> ranks = waiting_.all_below(lowest_end);
  const std::size_t first = *std::min_element(ranks.begin(), ranks.end());
  std::make_heap(ranks.begin(), ranks.end(), std::greater<>());
  for (; !ranks.empty(); ranks.pop_back()) {
    std::pop_heap(ranks.begin(), ranks.end(), std::greater<>());
    if (!leaves_room(ranks.back(), capacity)) continue;
    work_ += static_cast<std::int64_t>(waiting_.before(ranks.back()));
    return ranks.back();
  }
  work_ += static_cast<std::int64_t>(waiting_.size());
  return first;
}

bool Dive::leaves_room(std::size_t rank, std::int64_t capacity) const {
  const Span& span = sections_.spans[order_[rank]];
  const std::int64_t offset = waiting_.offset(rank);
  const auto begin = to_come_.begin() + static_cast<std::ptrdiff_t>(span.first);
  const auto end = to_come_.begin() + static_cast<std::ptrdiff_t>(span.last) + 1;
  return std::all_of(begin, end, [&](std::int64_t more) { return offset + more <= capacity; });
}

void Dive::take_from_what_is_to_come(std::uint32_t item) {
  const Span& span = sections_.spans[item];
  for (std::size_t s = span.first; s <= span.last; ++s) to_come_[s] -= sizes_[item];
}

// Returns where it ends.
std::int64_t Dive::place(std::size_t rank) {
  const std::uint32_t item = order_[rank];
  offsets_[item] = waiting_.offset(rank);
  waiting_.place(rank);
  work_ += static_cast<std::int64_t>(waiting_.size());
  return offsets_[item] + sizes_[item];
}

}  // namespace lowtide::plan
