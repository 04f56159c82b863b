// A number of every step in bounded memory.
#include "cli/train/thinned.h"

#include <gtest/gtest.h>

namespace lowtide::cli {
namespace {

TEST(Thinned, HoldsAllOfAFew) {
  Thinned thinned;
  EXPECT_TRUE(thinned.few(100).empty());
  for (int i = 0; i < 100; ++i) thinned.add(i);
  EXPECT_EQ(thinned.few(100), thinned.kept());
  EXPECT_EQ(thinned.kept().size(), 100U);
  thinned.add(100);
  const std::vector<double> few = thinned.few(100);
  EXPECT_EQ(few.size(), 100U);
  EXPECT_EQ(few.front(), 0);
  EXPECT_EQ(few[98], 98 * 100 / 99);
  EXPECT_EQ(few.back(), 100);
}

// A run of a million steps takes no more memory than one of a few thousand.
TEST(Thinned, IsBoundedAndEvenlySpaced) {
  Thinned thinned;
  constexpr int kSteps = 1'000'000;
  for (int i = 0; i < kSteps; ++i) thinned.add(i);
  EXPECT_LE(thinned.kept().capacity(), Thinned::kMost);
  EXPECT_GE(thinned.kept().size(), Thinned::kMost / 2 - 1);
  const std::vector<double> few = thinned.few(100);
  ASSERT_EQ(few.size(), 100U);
  EXPECT_EQ(few.front(), 0);
  EXPECT_EQ(few.back(), kSteps - 1);
  for (std::size_t i = 0; i + 1 < few.size(); ++i) {
    EXPECT_NEAR(few[i], static_cast<double>(i) * (kSteps - 1) / 99, 512) << i;
  }
}

}  // namespace
}  // namespace lowtide::cli
