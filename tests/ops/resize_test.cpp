// The taps of resizing against numbers worked out by hand.
#include <gtest/gtest.h>

#include "ops/resize/resize_taps.h"

namespace lowtide::ops {
namespace {

using Numbers = std::vector<double>;

// What the taps make of 1, 2, 4, 8, ...: sums that tell which places they took.
Numbers resized(const Resize& a, ResizeAxis axis, std::int64_t length) {
  axis.scale =
      axis.scale == 1 ? static_cast<double>(axis.size) / static_cast<double>(length) : axis.scale;
  const Taps taps = resize_taps(a, axis, length);
  Numbers result;
  for (std::size_t i = 0; i + 1 < taps.first.size(); ++i) {
    double sum = 0;
    for (auto k = static_cast<std::size_t>(taps.first[i]);
         k < static_cast<std::size_t>(taps.first[i + 1]); ++k) {
      sum += taps.weight[k] * static_cast<double>(std::int64_t{1} << taps.place[k]);
    }
    result.push_back(sum);
  }
  return result;
}

TEST(Resize, DoublesByRepeating) {
  const Numbers twice = {1, 1, 2, 2, 4, 4};
  EXPECT_EQ(resized({.coordinates = Coordinates::kAsymmetric, .rounding = NearestRounding::kFloor},
                    {.size = 6}, 3),
            twice);
  EXPECT_EQ(resized({.rounding = NearestRounding::kPreferCeil}, {.size = 6}, 3), twice);
}

// Places -1/4, 1/4, 3/4, 5/4, ...: the border's weight goes to the border itself.
TEST(Resize, DoublesLinearly) {
  EXPECT_EQ(resized({.mode = ResizeMode::kLinear}, {.size = 6}, 3),
            (Numbers{1, 1.25, 1.75, 2.5, 3.5, 4}));
  EXPECT_EQ(resized({.mode = ResizeMode::kLinear, .coordinates = Coordinates::kAlignCorners},
                    {.size = 5}, 3),
            (Numbers{1, 1.5, 2, 3, 4}));
}

TEST(Resize, RoundsHalvesEitherWay) {
  // Places 1/2, 5/2.
  EXPECT_EQ(resized({.rounding = NearestRounding::kPreferFloor}, {.size = 2}, 4), (Numbers{1, 4}));
  EXPECT_EQ(resized({.rounding = NearestRounding::kPreferCeil}, {.size = 2}, 4), (Numbers{2, 8}));
  EXPECT_EQ(resized({.rounding = NearestRounding::kFloor}, {.size = 2}, 4), (Numbers{1, 4}));
  EXPECT_EQ(resized({.rounding = NearestRounding::kCeil}, {.size = 2}, 4), (Numbers{2, 8}));
}

// With a = -1/2 the cubic kernel at 1/2 is 9/16, and at 3/2 -1/16.
TEST(Resize, WeighsFourPlacesByACubic) {
  const Resize cubic{
      .mode = ResizeMode::kCubic, .coordinates = Coordinates::kAsymmetric, .cubic = -0.5};
  const Numbers y = resized(cubic, {.size = 8}, 4);
  EXPECT_EQ(y[2], 2);
  EXPECT_DOUBLE_EQ(y[3], (-1 + 9 * 2 + 9 * 4 - 8) / 16.0);
  EXPECT_DOUBLE_EQ(y[1], (-1 + 9 * 1 + 9 * 2 - 4) / 16.0);
  Resize inside = cubic;
  inside.exclude_outside = true;
  EXPECT_DOUBLE_EQ(resized(inside, {.size = 8}, 4)[1], (9 * 1 + 9 * 2 - 4) / 17.0);
}

// At half the size the triangle is four places wide.
TEST(Resize, AntialiasesWhereItShrinks) {
  const Numbers y =
      resized({.mode = ResizeMode::kLinear, .antialias = true}, {.size = 2, .scale = 0.5}, 4);
  EXPECT_DOUBLE_EQ(y[0], (1 * 4 + 2 * 3 + 4 * 1) / 8.0);
  EXPECT_DOUBLE_EQ(y[1], (2 * 1 + 4 * 3 + 8 * 4) / 8.0);
}

TEST(Resize, ExtrapolatesOutsideOfTheCrop) {
  const Resize crop{.mode = ResizeMode::kLinear, .coordinates = Coordinates::kTfCropAndResize};
  const Taps taps = resize_taps(crop, {.size = 3, .scale = 1, .begin = 0.5, .end = 1.5}, 3);
  // Places 1, 2, 3.
  EXPECT_EQ(taps.first, (std::vector<std::int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(taps.place, (std::vector<std::int64_t>{1, 2}));
}

TEST(Resize, TransposedTapsLeadBack) {
  const Taps taps = resize_taps({.mode = ResizeMode::kLinear}, {.size = 4, .scale = 2}, 2);
  const Taps back = transposed(taps, 2);
  EXPECT_EQ(back.first, (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(back.place, (std::vector<std::int64_t>{0, 1, 2, 1, 2, 3}));
  EXPECT_EQ(back.weight, (Numbers{1, 0.75, 0.25, 0.25, 0.75, 1}));
}

}  // namespace
}  // namespace lowtide::ops
