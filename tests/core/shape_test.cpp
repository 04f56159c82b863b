// Shapes: products, axes, broadcasting.
#include "core/shape.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::core {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().rank(), 0U);
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).elements(), 0);
  EXPECT_EQ(Shape({2, 3}).str(), "[2, 3]");
  EXPECT_EQ(Shape().str(), "[]");
}

TEST(Shape, RefusesNegativeDimensions) { EXPECT_THROW(Shape({2, -1}), Error); }

TEST(Shape, RefusesProductsBeyondInt64) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(Shape({huge, huge}), Error);
  EXPECT_THROW(Shape({std::numeric_limits<std::int64_t>::max()}), Error);
  // A zero dimension does not excuse the others.
  EXPECT_THROW(Shape({huge, 0, huge}), Error);
  EXPECT_EQ(Shape({huge, 1 << 10}).elements(), std::int64_t{1} << 50);
}

TEST(Shape, WithReplacesOneDimension) {
  EXPECT_EQ(Shape({2, 3}).with(1, 5), Shape({2, 5}));
  EXPECT_THROW(static_cast<void>(Shape({2, 3}).with(0, -1)), Error);
}

TEST(Shape, NegativeAxesCountFromTheBack) {
  EXPECT_EQ(normalized_axis(0, 3), 0U);
  EXPECT_EQ(normalized_axis(-1, 3), 2U);
  EXPECT_EQ(normalized_axis(-3, 3), 0U);
  EXPECT_THROW(normalized_axis(3, 3), Error);
  EXPECT_THROW(normalized_axis(-4, 3), Error);
  EXPECT_THROW(normalized_axis(0, 0), Error);
}

TEST(Shape, BroadcastFollowsNumpy) {
  EXPECT_EQ(broadcast(Shape({2, 3}), Shape({2, 3})), Shape({2, 3}));
  EXPECT_EQ(broadcast(Shape({2, 3}), Shape()), Shape({2, 3}));
  EXPECT_EQ(broadcast(Shape({3}), Shape({2, 1})), Shape({2, 3}));
  EXPECT_EQ(broadcast(Shape({4, 1, 6}), Shape({5, 1})), Shape({4, 5, 6}));
  EXPECT_EQ(broadcast(Shape({1, 3}), Shape({0, 1})), Shape({0, 3}));
}

TEST(Shape, BroadcastNamesBothShapes) {
  try {
    static_cast<void>(broadcast(Shape({2, 3}), Shape({4})));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "shapes [2, 3] and [4] do not broadcast");
  }
}

}  // namespace
}  // namespace lowtide::core
