// Occupancy: its gaps are those that a look at every item finds.
#include "plan/packing/occupancy.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"

namespace lowtide::plan {
namespace {

struct Placed {
  Item item;
  std::int64_t offset = 0;
};

// Where each end, and the ground, are tried.
std::int64_t lowest_gap(const std::vector<Placed>& placed, const Item& item) {
  std::vector<std::int64_t> offsets = {0};
  for (const Placed& one : placed) offsets.push_back(one.offset + one.item.size.count());
  std::sort(offsets.begin(), offsets.end());
  const auto is_free = [&](std::int64_t offset) {
    return std::none_of(placed.begin(), placed.end(), [&](const Placed& one) {
      return one.item.first <= item.last && item.first <= one.item.last &&
             one.offset < offset + item.size.count() && offset < one.offset + one.item.size.count();
    });
  };
  return *std::find_if(offsets.begin(), offsets.end(), is_free);
}

TEST(Occupancy, FindsTheGapsThatAreThere) {
  for (const std::uint64_t times : {1U, 2U, 3U, 8U, 100U}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      core::RandomStream random(seed, times);
      Occupancy occupancy(times);
      std::vector<Placed> placed;
      for (int i = 0; i < 100; ++i) {
        const std::uint64_t a = random.below(times);
        const std::uint64_t b = random.below(times);
        const Item item{.size = Bytes(1 + static_cast<std::int64_t>(random.below(20))),
                        .first = static_cast<std::int32_t>(std::min(a, b)),
                        .last = static_cast<std::int32_t>(std::max(a, b))};
        std::int64_t offset = occupancy.lowest_gap(item);
        ASSERT_EQ(offset, lowest_gap(placed, item)) << times << " times, seed " << seed;
        // Some lie over others, which is the caller's business, and leave gaps.
        if (random.below(3) == 0) offset += static_cast<std::int64_t>(random.below(30));
        occupancy.insert(item, offset);
        placed.push_back({item, offset});
      }
    }
  }
}

}  // namespace
}  // namespace lowtide::plan
