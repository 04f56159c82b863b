#include "plan/packing/pack.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "core/check.h"
#include "plan/packing/occupancy.h"
#include "plan/packing/packing_search.h"

namespace lowtide::plan {

namespace {

// Items of less than this part of the largest one are small. They are most of the items and few of
// the bytes, and fit the gaps between the others.
constexpr std::int64_t kSmall = 1024;

// Some of the items: which they are, and where they go.
struct Some {
  std::vector<Item> items;
  std::vector<std::size_t> where;
};

// Long-lived ones first.
std::vector<std::uint32_t> by_life(std::span<const Item> items) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto life = [&](std::uint32_t i) { return std::int64_t{items[i].last} - items[i].first; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return life(a) > life(b); });
  return order;
}

std::size_t times(std::span<const Item> items) {
  std::int32_t last = 0;
  for (const Item& item : items) last = std::max(last, item.last);
  return static_cast<std::size_t>(last) + 1;
}

// The offsets of small items beside large ones, and the height of them all.
Found place_in_gaps(std::span<const Item> small,
                    std::span<const Item> large,
                    const std::vector<std::int64_t>& offsets) {
  Occupancy taken(std::max(times(small), times(large)));
  Found found{std::vector<std::int64_t>(small.size()), 0};
  for (std::size_t i = 0; i < large.size(); ++i) {
    taken.insert(large[i], offsets[i]);
    found.height = std::max(found.height, offsets[i] + large[i].size.count());
  }
  for (const std::uint32_t i : by_life(small)) {
    found.offsets[i] = taken.lowest_gap(small[i]);
    found.height = std::max(found.height, found.offsets[i] + small[i].size.count());
    taken.insert(small[i], found.offsets[i]);
  }
  return found;
}

}  // namespace

Bytes max_live(std::span<const Item> items) {
  std::vector<std::int64_t> change(times(items) + 1, 0);
  for (const Item& item : items) {
    change[static_cast<std::size_t>(item.first)] += item.size.count();
    change[static_cast<std::size_t>(item.last) + 1] -= item.size.count();
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const std::int64_t step : change) {
    live += step;
    most = std::max(most, live);
  }
  return Bytes(most);
}

Packing pack(std::span<const Item> items, const PackingAim& aim) {
  Packing result{std::vector<Bytes>(items.size()), Bytes(0)};
  Bytes largest;
  for (const Item& item : items) {
    LT_CHECK(item.first >= 0 && item.first <= item.last, "a lifetime runs forward");
    largest = std::max(largest, item.size);
  }
  if (largest <= Bytes(0)) return result;  // items of no bytes lie anywhere: at 0
  Some large;
  Some small;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].size <= Bytes(0)) continue;
    Some& part = items[i].size.count() * kSmall >= largest.count() ? large : small;
    part.items.push_back(items[i]);
    part.where.push_back(i);
  }
  std::optional<Found> rest;  // beside the large ones where all are lowest so far
  const Found found =
      search_packings(large.items, aim, [&](const std::vector<std::int64_t>& offsets) {
        Found gaps = place_in_gaps(small.items, large.items, offsets);
        const std::int64_t height = gaps.height;
        if (!rest || height < rest->height) rest = std::move(gaps);
        return height;
      });
  const auto put = [&](const Some& part, const std::vector<std::int64_t>& offsets) {
    for (std::size_t i = 0; i < part.where.size(); ++i) {
      result.offsets[part.where[i]] = Bytes(offsets[i]);
    }
  };
  put(large, found.offsets);
  put(small, rest->offsets);
  result.height = Bytes(found.height);
  return result;
}

}  // namespace lowtide::plan
