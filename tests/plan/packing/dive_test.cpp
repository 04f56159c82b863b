// Dives: they place what a look at one item after another would, and count the same work.
#include "plan/packing/dive/dive.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "core/random.h"

namespace lowtide::plan {
namespace {

// A dive by its definition.
class PlainDive {
 public:
  explicit PlainDive(const std::vector<Item>& items) : items_(items), sections_(items) {}

  std::int64_t run(const std::vector<std::uint32_t>& order, std::int64_t capacity) {
    waiting = order;
    offsets.assign(items_.size(), 0);
    work = 0;
    std::int64_t height = 0;
    while (!waiting.empty()) {
      const std::uint32_t item = choose(capacity);
      std::erase(waiting, item);
      const std::int64_t end = end_of(item);
      for (const std::uint32_t other : waiting) {
        if (meet(sections_.spans[item], sections_.spans[other])) {
          offsets[other] = std::max(offsets[other], end);
        }
      }
      const Span& span = sections_.spans[item];
      for (std::size_t s = span.first; s <= span.last; ++s) sections_.live[s] -= size(item);
      work += static_cast<std::int64_t>(waiting.size());
      height = std::max(height, end);
    }
    return height;
  }

  std::vector<std::uint32_t> waiting;
  std::vector<std::int64_t> offsets;
  std::int64_t work = 0;

 private:
  [[nodiscard]] std::int64_t size(std::uint32_t item) const { return items_[item].size.count(); }
  [[nodiscard]] std::int64_t end_of(std::uint32_t item) const { return offsets[item] + size(item); }

  std::uint32_t choose(std::int64_t capacity) {
    const auto lowest =
        std::min_element(waiting.begin(), waiting.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return end_of(a) < end_of(b); });
    const std::int64_t lowest_end = end_of(*lowest);
    const auto low = [&](std::uint32_t item) { return offsets[item] < lowest_end; };
    const auto first = std::find_if(waiting.begin(), waiting.end(), low);
    const auto chosen = std::find_if(first, waiting.end(), [&](std::uint32_t item) {
      return low(item) && (capacity == 0 || leaves_room(item, capacity));
    });
    work += chosen - waiting.begin();
    return chosen == waiting.end() ? *first : *chosen;
  }

  [[nodiscard]] bool leaves_room(std::uint32_t item, std::int64_t capacity) const {
    const Span& span = sections_.spans[item];
    for (std::size_t s = span.first; s <= span.last; ++s) {
      if (offsets[item] + sections_.live[s] > capacity) return false;
    }
    return true;
  }

  const std::vector<Item>& items_;
  Sections sections_;
};

// Some that last, and many that are soon gone.
std::vector<Item> random_items(std::uint64_t seed, std::size_t count) {
  core::RandomStream random(seed, count);
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int32_t>(random.below(count));
    const std::uint64_t life = random.below(random.below(4) == 0 ? count : 4);
    const auto last =
        std::min(first + static_cast<std::int32_t>(life), static_cast<std::int32_t>(count));
    const auto size = static_cast<std::int64_t>(64 * (1 + random.below(9)));
    items.push_back({.size = Bytes(size), .first = first, .last = last});
  }
  return items;
}

// Those that last longest first.
std::vector<std::uint32_t> by_life(const std::vector<Item>& items) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto life = [&](std::uint32_t i) { return items[i].last - items[i].first; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return life(a) > life(b); });
  return order;
}

void expect_the_rule(const std::vector<Item>& items) {
  const std::vector<std::uint32_t> order = by_life(items);
  Dive dive(items);
  std::int64_t work = 0;
  for (const std::int64_t capacity : {std::int64_t{0}, dive.bound(), std::int64_t{0}}) {
    PlainDive plain(items);
    EXPECT_EQ(dive.run(order, {.capacity = capacity}), plain.run(order, capacity));
    EXPECT_EQ(dive.offsets(), plain.offsets);
    work += plain.work;
    EXPECT_EQ(dive.work(), work);
  }
}

TEST(Dive, PlacesByItsRule) {
  for (const std::size_t count : {1U, 2U, 31U, 32U, 33U, 100U, 700U}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(testing::Message() << count << " items, seed " << seed);
      expect_the_rule(random_items(seed, count));
    }
  }
}

}  // namespace
}  // namespace lowtide::plan
