// Packing alone: pictures, exact answers for tiny cases, random cases, real networks, scale.
#include "plan/packing/pack.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "core/random.h"
#include "plan/packing/puzzles.h"
#include "plan/schedule.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

std::string faults(const std::vector<Item>& items, const Packing& packing) {
  return faults(items, packing.offsets, packing.height);
}

// The least height over every order of placement at the lowest place, which is exact: a best
// packing, pushed down, comes from the order of its offsets.
Bytes exact_height(const std::vector<Item>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t best = std::int64_t{1} << 60U;
  do {
    std::vector<std::int64_t> begin(items.size(), 0);
    std::int64_t height = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Item& mine = items[order[k]];
      for (std::size_t l = 0; l < k; ++l) {
        const Item& below = items[order[l]];
        if (below.first > mine.last || mine.first > below.last) continue;
        begin[order[k]] = std::max(begin[order[k]], begin[order[l]] + below.size.count());
      }
      height = std::max(height, begin[order[k]] + mine.size.count());
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return Bytes(best);
}

std::vector<Item> random_items(std::uint64_t seed, std::size_t count, std::uint64_t steps) {
  core::RandomStream random(seed, 3);
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = static_cast<std::int32_t>(random.below(steps));
    const auto b = static_cast<std::int32_t>(random.below(steps));
    items.push_back(
        item(static_cast<std::int64_t>(64 * random.below(9)), std::min(a, b), std::max(a, b)));
  }
  return items;
}

TEST(Pack, ReusesBytesOfItemsThatAreGone) {
  // time 0 1 2 3
  //      A A . .
  //      . B B .
  //      . . C C   C takes A's bytes
  const std::vector<Item> items = {item(128, 0, 1), item(64, 1, 2), item(128, 2, 3)};
  const Packing packing = pack(items);
  EXPECT_EQ(faults(items, packing), "");
  EXPECT_EQ(packing.height, Bytes(192));
}

TEST(Pack, NothingNeedsNothing) {
  EXPECT_EQ(pack({}).height, Bytes(0));
  EXPECT_EQ(max_live({}), Bytes(0));
  const std::vector<Item> empty = {item(0, 0, 5), item(0, 2, 2)};
  EXPECT_EQ(pack(empty).height, Bytes(0));
  EXPECT_EQ(pack(empty).offsets.size(), 2U);
}

TEST(Pack, CountsBothEndsOfALifetime) {
  EXPECT_EQ(max_live(std::vector<Item>{item(64, 0, 1), item(64, 1, 2)}), Bytes(128));
  EXPECT_EQ(max_live(std::vector<Item>{item(64, 0, 1), item(64, 2, 2)}), Bytes(64));
}

TEST(Pack, StackOfSavedTensorsMeetsTheBound) {
  // A network: tensor i lives from step i to step 199 - i, a transient at every step.
  std::vector<Item> items;
  for (std::int32_t i = 0; i < 100; ++i) items.push_back(item(64 * (1 + i % 7), i, 199 - i));
  for (std::int32_t t = 0; t < 200; ++t) items.push_back(item(64 * (1 + t % 5), t, t));
  const Packing packing = pack(items);
  EXPECT_EQ(faults(items, packing), "");
  EXPECT_EQ(packing.height, max_live(items));
}

TEST(Pack, MatchesExactSearchOnTinyCases) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const std::vector<Item> items = random_items(seed, 1 + seed % 7, 6);
    const Packing packing = pack(items, {.work = 1'000'000});
    ASSERT_EQ(faults(items, packing), "") << seed;
    ASSERT_EQ(packing.height, exact_height(items)) << seed;
  }
}

TEST(Pack, IsSoundAndNearTheBoundOnRandomCases) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<Item> items = random_items(seed, 200, 60);
    const Packing packing = pack(items, {.work = 3'000'000});
    ASSERT_EQ(faults(items, packing), "") << seed;
    EXPECT_LE(static_cast<double>(packing.height.count()),
              1.03 * static_cast<double>(max_live(items).count()))
        << seed;
  }
}

TEST(Pack, SurvivesTheCombThatDefeatsFirstFit) {
  // Teeth of growing size whose gaps never fit the next tooth if placed in order of birth.
  std::vector<Item> items;
  for (std::int32_t i = 0; i < 40; ++i) {
    items.push_back(item(64 * (i + 1), i, i));
    items.push_back(item(64, i, 40));
  }
  const Packing packing = pack(items);
  EXPECT_EQ(faults(items, packing), "");
  EXPECT_EQ(packing.height, max_live(items));
}

TEST(Pack, PutsPuzzlesWithoutASpareByteTogether) {
  constexpr std::int64_t kCapacity = std::int64_t{64} << 20U;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::vector<Item> items = puzzle(seed, kCapacity, 20 + 8 * seed);
    const Packing packing = pack(items);
    ASSERT_EQ(faults(items, packing), "") << seed;
    EXPECT_EQ(packing.height, Bytes(kCapacity)) << seed << ": " << items.size() << " pieces";
  }
}

TEST(Pack, StopsSoonAtWhatIsEnoughAndReachesWhateverIsMore) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Item> items = random_items(seed, 150, 60);
    const Bytes least = pack(items, {.work = 2'000'000}).height;
    for (const std::int64_t spare : {0, 64, 640, 6400}) {
      const Bytes enough = least + Bytes(spare);
      const Packing packing = pack(items, {.work = 2'000'000, .enough = enough});
      ASSERT_EQ(faults(items, packing), "") << seed;
      EXPECT_LE(packing.height, enough) << seed;
    }
    const Bytes too_little = least - Bytes(64);
    EXPECT_EQ(pack(items, {.work = 2'000'000, .enough = too_little}).height, least) << seed;
  }
}

// What a chain of blocks leaves behind under a tight budget: a few long lives, and steps at which
// pieces of several sizes come and go beside them.
std::vector<Item> crowded_items(std::uint64_t seed) {
  core::RandomStream random(seed, 4);
  std::vector<Item> items;
  constexpr std::int32_t kSteps = 400;
  constexpr std::int64_t kCapacity = 1000;
  std::vector<std::int64_t> live(kSteps, 0);
  for (int i = 0; i < 700; ++i) {
    const auto first = static_cast<std::int32_t>(random.below(kSteps));
    const auto life = static_cast<std::int32_t>(random.below(i < 30 ? 300 : 12));
    const std::int32_t last = std::min(first + life, kSteps - 1);
    const auto size = static_cast<std::int64_t>(1 + random.below(i % 3 == 0 ? 240 : 60));
    const auto begin = live.begin() + first;
    const auto end = live.begin() + last + 1;
    if (*std::max_element(begin, end) + size > kCapacity) continue;
    std::for_each(begin, end, [&](std::int64_t& bytes) { bytes += size; });
    items.push_back(item(64 * size, first, last));
  }
  return items;
}

TEST(Pack, IsNearTheBoundWhereManyStepsAreFull) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::vector<Item> items = crowded_items(seed);
    const Packing packing = pack(items, {.work = 20'000'000});
    ASSERT_EQ(faults(items, packing), "") << seed;
    EXPECT_LE(static_cast<double>(packing.height.count()),
              1.06 * static_cast<double>(max_live(items).count()))
        << seed << ": " << items.size() << " items";
  }
}

TEST(Pack, IsDeterministic) {
  const std::vector<Item> items = random_items(5, 300, 80);
  EXPECT_EQ(pack(items, {.work = 5'000'000}).offsets, pack(items, {.work = 5'000'000}).offsets);
}

struct Network {
  const char* name;
  ToyNet (*make)(std::int64_t batch);
};

class PackNetwork : public testing::TestWithParam<Network> {};

TEST_P(PackNetwork, WithinOnePercentOfTheBound) {
  const ToyNet net = GetParam().make(16);
  for (const Policy policy : {Policy::kKeep, Policy::kChen}) {
    const Plan plan = net.plan(policy);
    const double live =
        static_cast<double>((plan.peak_live_bytes - net.persistent_bytes()).count());
    const double height = static_cast<double>((plan.arena_bytes - net.persistent_bytes()).count());
    EXPECT_LE(height, 1.01 * live) << name(policy);
    EXPECT_EQ(net.check(plan), std::vector<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         PackNetwork,
                         testing::Values(Network{"ResNet50", resnet50},
                                         Network{"Vgg16", vgg16},
                                         Network{"Wrn28x2", wrn28_2}),
                         [](const auto& network) { return network.param.name; });

TEST(Pack, ThirtyThousandBuffersOfADeepNetwork) {
  std::vector<Item> items;
  constexpr std::int32_t kLayers = 10'000;
  for (std::int32_t i = 0; i < kLayers; ++i) {
    items.push_back(item(64 * (1 + i % 13), i, 2 * kLayers - 1 - i));
  }
  for (std::int32_t t = 0; t < 2 * kLayers; ++t) items.push_back(item(64 * (1 + t % 11), t, t));
  const Packing packing = pack(items, {.work = 0});
  EXPECT_LE(static_cast<double>(packing.height.count()),
            1.01 * static_cast<double>(max_live(items).count()));
}

}  // namespace
}  // namespace lowtide::plan
