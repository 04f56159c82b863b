// The generator against the published vectors, and the stream's distributions.
#include "core/random.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace lowtide::core {
namespace {

// Known answers of philox4x32-10 published with Random123.
static_assert(philox(0, 0, 0) == Philox{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox(~0ULL, ~0ULL, ~0ULL) ==
              Philox{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
              Philox{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

static_assert(unit_float(0) == 0.0F);
static_assert(unit_float(~0U) < 1.0F);

TEST(RandomStream, WalksTheCounterWordByWord) {
  RandomStream stream(7, 9);
  for (const std::uint64_t counter : {0U, 1U, 2U}) {
    for (const std::uint32_t word : philox(7, counter, 9)) EXPECT_EQ(stream.word(), word);
  }
}

TEST(RandomStream, KeysAndStreamsDiffer) {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t key = 0; key < 10; ++key) {
    for (std::uint64_t stream = 0; stream < 10; ++stream) {
      firsts.insert(RandomStream(key, stream).word());
    }
  }
  EXPECT_EQ(firsts.size(), 100U);
}

TEST(RandomStream, BelowStaysBelowAndReachesAll) {
  RandomStream stream(1, 2);
  std::array<int, 10> counts{};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t draw = stream.below(counts.size());
    ASSERT_LT(draw, counts.size());
    ++counts[draw];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);  // five deviations
}

TEST(RandomStream, BelowTakesTheExtremes) {
  RandomStream stream(3, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stream.below(1), 0U);
  // Just above 2^63 nearly half of all draws are rejected; the rest stay below.
  const std::uint64_t bound = (std::uint64_t{1} << 63U) + 1;
  for (int i = 0; i < 1000; ++i) EXPECT_LT(stream.below(bound), bound);
  EXPECT_LT(stream.below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(RandomStream, UniformAndNormalHaveTheirMoments) {
  RandomStream stream(5, 6);
  const int draws = 100'000;
  double uniform_sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double uniform = stream.uniform();
    ASSERT_GE(uniform, 0.0);
    ASSERT_LT(uniform, 1.0);
    const double normal = stream.normal();
    ASSERT_TRUE(std::isfinite(normal));
    uniform_sum += uniform;
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  EXPECT_NEAR(uniform_sum / draws, 0.5, 0.005);
  EXPECT_NEAR(normal_sum / draws, 0.0, 0.016);
  EXPECT_NEAR(normal_squares / draws, 1.0, 0.023);
}

}  // namespace
}  // namespace lowtide::core
