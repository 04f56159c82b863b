#include "plan/packing/puzzles.h"

#include <algorithm>

#include "core/random.h"

namespace lowtide::plan {

Item item(std::int64_t size, std::int32_t first, std::int32_t last) {
  return {Bytes(size), first, last};
}

std::string faults(std::span<const Item> items, std::span<const Bytes> offsets, Bytes height) {
  Bytes highest;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Bytes begin = offsets[i];
    const Bytes end = begin + items[i].size;
    if (begin < Bytes(0)) return "an item lies below 0";
    highest = std::max(highest, end);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      if (together && begin < offsets[j] + items[j].size && offsets[j] < end) {
        return "items " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
      }
    }
  }
  return highest == height ? "" : "the height is not that of the highest item";
}

namespace {

// Cuts across or along, and goes on with both parts.
void cut(std::vector<Item>& pieces, core::RandomStream& random, Item whole, std::size_t count) {
  if (count <= 1) {
    pieces.push_back(whole);
    return;
  }
  const std::size_t half = count / 2;
  const std::int32_t times = whole.last - whole.first + 1;
  const std::int64_t lines = whole.size.count() / 64;
  if ((random.below(2) == 0 && times > 3) || lines < 4) {
    if (times < 2) return pieces.push_back(whole);
    const auto at = whole.first + times / 4 +
                    static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(times / 2)));
    cut(pieces, random, item(whole.size.count(), whole.first, at), half);
    cut(pieces, random, item(whole.size.count(), at + 1, whole.last), count - half);
    return;
  }
  const std::int64_t below =
      lines / 4 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(lines / 2))) +
      1;
  cut(pieces, random, item(64 * below, whole.first, whole.last), half);
  cut(pieces, random, item(64 * (lines - below), whole.first, whole.last), count - half);
}

}  // namespace

std::vector<Item> puzzle(std::uint64_t seed, std::int64_t bytes, std::size_t pieces) {
  core::RandomStream random(seed, 9);
  std::vector<Item> items;
  cut(items, random, item(bytes, 0, 999), pieces);
  return items;
}

}  // namespace lowtide::plan
