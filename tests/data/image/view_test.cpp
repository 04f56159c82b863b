// Views: the centre for evaluation; for training, parts that depend on seed, epoch and sample only.
#include "data/image/view.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace lowtide::data {
namespace {

constexpr ImageSize kOutput = {.width = 64, .height = 64};
constexpr Augmentation kBoth = {.crop = true, .flip = true};

TEST(View, TheCentreCoversTheOutput) {
  // As torchvision: 128 x 256 is scaled to 64 x 128, of which rows 32 to 96 are taken.
  const View tall = centre_view({128, 256}, kOutput);
  EXPECT_EQ(tall.x.scale, 2);
  EXPECT_EQ(tall.x.first, 0);
  EXPECT_EQ(tall.y.scale, 2);
  EXPECT_EQ(tall.y.first, 32);
  // 100 x 65 to 64: 98 x 64, left margin 17.
  const View wide = centre_view({100, 65}, kOutput);
  EXPECT_DOUBLE_EQ(wide.x.scale, 100.0 / 98);
  EXPECT_EQ(wide.x.first, 17);
  EXPECT_DOUBLE_EQ(wide.y.scale, 65.0 / 64);
}

TEST(View, TheCentreLiesInTheImage) {
  for (std::int64_t width = 1; width < 200; width += 3) {
    for (std::int64_t height = 1; height < 200; height += 7) {
      const View view = centre_view({width, height}, {.width = 24, .height = 40});
      EXPECT_GE(view.x.first, 0);
      EXPECT_LE((view.x.first + 24) * view.x.scale, static_cast<double>(width) * (1 + 1e-9));
      EXPECT_LE((view.y.first + 40) * view.y.scale, static_cast<double>(height) * (1 + 1e-9));
    }
  }
}

TEST(View, AReductionLeavesTwoPixelsForEach) {
  EXPECT_EQ(centre_view({127, 127}, kOutput).reduction(), 1);
  EXPECT_EQ(centre_view({255, 255}, kOutput).reduction(), 1);
  EXPECT_EQ(centre_view({256, 256}, kOutput).reduction(), 2);
  EXPECT_EQ(centre_view({4000, 3000}, kOutput).reduction(), 8);
  const View view = random_view({4000, 3000}, kOutput, kBoth, 1, 0, 9).reduced(4);
  EXPECT_LE(view.x.end, 1000);
  EXPECT_LE(view.y.end, 750);
}

TEST(View, TheSameArgumentsGiveTheSameView) {
  const auto views = [](std::uint64_t seed, std::int64_t epoch) {
    std::vector<double> places;
    for (std::int64_t sample = 0; sample < 20; ++sample) {
      const View view = random_view({200, 150}, kOutput, kBoth, seed, epoch, sample);
      places.insert(places.end(), {view.x.scale, view.x.first, view.y.scale, view.y.first,
                                   view.turn.mirror_x ? 1.0 : 0.0});
    }
    return places;
  };
  EXPECT_EQ(views(1, 0), views(1, 0));
  EXPECT_NE(views(1, 0), views(2, 0));
  EXPECT_NE(views(1, 0), views(1, 1));
}

// Area, ratio, place and mirror are spread as they should be.
TEST(View, PartsAreDrawnEvenly) {
  constexpr std::int64_t kSamples = 4000;
  double area = 0;
  double place = 0;
  int mirrored = 0;
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const View view = random_view({1000, 1000}, kOutput,
                                  {.crop = true, .flip = true, .least_area = 0.2}, 11, 2, sample);
    const auto width = static_cast<double>(view.x.end - view.x.begin);
    const auto height = static_cast<double>(view.y.end - view.y.begin);
    EXPECT_GE(width / height, 0.74);
    EXPECT_LE(width / height, 1.35);
    EXPECT_GE(width * height, 0.199e6);
    EXPECT_GE(view.x.begin, 0);
    EXPECT_LE(view.x.end, 1000);
    EXPECT_GE(view.y.begin, 0);
    EXPECT_LE(view.y.end, 1000);
    area += width * height / 1e6 / kSamples;
    place += (static_cast<double>(view.x.begin) + width / 2) / 1000 / kSamples;
    mirrored += view.turn.mirror_x ? 1 : 0;
  }
  // The mean of a over a in [0.2, 1], u in [0, log(4 / 3)] with a <= exp(-u): what fits.
  EXPECT_NEAR(area, 0.538, 0.015);
  EXPECT_NEAR(place, 0.5, 0.01);
  EXPECT_NEAR(mirrored, kSamples / 2, 130);
}

TEST(View, WithoutAWishItIsTheCentre) {
  const View view = random_view({200, 150}, kOutput, {.flip = true}, 1, 2, 3);
  EXPECT_EQ(view.x.scale, centre_view({200, 150}, kOutput).x.scale);
  EXPECT_EQ(view.x.first, centre_view({200, 150}, kOutput).x.first);
}

// Too long for any part of its ratio: the centre of that ratio.
TEST(View, ALineHasParts) {
  const View view = random_view({10000, 1}, kOutput, kBoth, 1, 0, 0);
  EXPECT_GE(view.x.begin, 0);
  EXPECT_LE(view.x.end, 10000);
  EXPECT_EQ(view.y.end, 1);
}

}  // namespace
}  // namespace lowtide::data
