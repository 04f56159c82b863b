#include "plan/packing/occupancy.h"

#include <algorithm>
#include <bit>

namespace lowtide::plan {

Occupancy::Occupancy(std::size_t times)
    : root_{.node = 1,
            .first = 0,
            .last = static_cast<std::int32_t>(std::bit_ceil(std::max<std::size_t>(times, 1))) - 1},
      nodes_(2 * (static_cast<std::size_t>(root_.last) + 1)) {}

void Occupancy::insert(const Item& item, std::int64_t offset) {
  insert(item, {offset, offset + item.size.count()}, root_);
}

void Occupancy::insert(const Item& item, Range range, Place place) {
  if (!place.meets(item)) return;
  take(nodes_[place.node].some, range);
  if (place.within(item)) return take(nodes_[place.node].all, range);
  insert(item, range, place.lower());
  insert(item, range, place.upper());
}

// Adds the range, as one with those that it meets.
void Occupancy::take(Ranges& taken, Range range) {
  const auto first =
      std::lower_bound(taken.begin(), taken.end(), range.begin,
                       [](const Range& other, std::int64_t begin) { return other.end < begin; });
  if (first == taken.end() || first->begin > range.end) {
    taken.insert(first, range);
    return;
  }
  auto last = first;
  while (last + 1 != taken.end() && (last + 1)->begin <= range.end) ++last;
  first->begin = std::min(first->begin, range.begin);
  first->end = std::max(last->end, range.end);
  taken.erase(first + 1, last + 1);
}

// Sets that together are what is taken at any time of the item's life.
void Occupancy::collect(const Item& item, Place place) const {
  if (!place.meets(item)) return;
  const Node& node = nodes_[place.node];
  const bool whole = place.within(item);
  const Ranges& taken = whole ? node.some : node.all;
  if (!taken.empty()) cursors_.push_back({&taken, taken.begin()});
  if (whole || node.some.empty()) return;
  collect(item, place.lower());
  collect(item, place.upper());
}

std::int64_t Occupancy::lowest_gap(const Item& item) const {
  cursors_.clear();
  collect(item, root_);
  const std::int64_t size = item.size.count();
  std::int64_t top = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (Cursor& cursor : cursors_) {
      const auto ends_below = [&](const Range& range) { return range.end <= top; };
      // Most often the next one is meant.
      if (cursor.at != cursor.taken->end() && ends_below(*cursor.at)) {
        cursor.at = std::partition_point(cursor.at + 1, cursor.taken->end(), ends_below);
      }
      while (cursor.at != cursor.taken->end() && cursor.at->begin < top + size) {
        top = cursor.at->end;
        ++cursor.at;
        moved = true;
      }
    }
  }
  return top;
}

}  // namespace lowtide::plan
