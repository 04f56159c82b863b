// Resampling, against sums in double precision written out from the definition.
#include "data/image/resampler.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "data/image/view.h"

namespace lowtide::data {
namespace {

using Plane = std::vector<std::uint8_t>;

Plane noise(std::int64_t count, std::uint64_t seed) {
  core::RandomStream random(seed, 0);
  Plane plane(static_cast<std::size_t>(count));
  for (auto& value : plane) value = static_cast<std::uint8_t>(random.below(256));
  return plane;
}

double triangle(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

// The output pixel (x, y) of one channel: a weighted mean over every source pixel of the boxes.
double expected(const Plane& image,
                std::int64_t stride,
                std::size_t channel,
                const AxisMap& xs,
                const AxisMap& ys,
                std::int64_t x,
                std::int64_t y,
                std::size_t channels) {
  double sum = 0;
  double weights = 0;
  for (std::int64_t v = ys.begin; v < ys.end; ++v) {
    const double wy = triangle(
        (static_cast<double>(v) + 0.5 - (ys.first + static_cast<double>(y) + 0.5) * ys.scale) /
        std::max(ys.scale, 1.0));
    for (std::int64_t u = xs.begin; u < xs.end; ++u) {
      const double wx = triangle(
          (static_cast<double>(u) + 0.5 - (xs.first + static_cast<double>(x) + 0.5) * xs.scale) /
          std::max(xs.scale, 1.0));
      sum += wx * wy * image[static_cast<std::size_t>(v * stride + u) * channels + channel];
      weights += wx * wy;
    }
  }
  return sum / weights;
}

void check(ImageSize image, ImageSize output, const View& view, int channels) {
  const Plane pixels = noise(image.width * image.height * channels, 3);
  Resampler resampler(view.x, output.width, view.y, output.height, channels);
  const auto stride = static_cast<std::size_t>(image.width * channels);
  for (std::int64_t y = resampler.first_row(); y < resampler.end_row(); ++y) {
    resampler.add_row(y, std::span(pixels).subspan(static_cast<std::size_t>(y) * stride, stride));
  }
  Plane out(static_cast<std::size_t>(output.width * output.height * channels));
  resampler.write(view.turn, out);
  for (int c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < output.height; ++y) {
      for (std::int64_t x = 0; x < output.width; ++x) {
        const std::int64_t seen = view.turn.mirror_x ? output.width - 1 - x : x;
        const double wanted = expected(pixels, image.width, static_cast<std::size_t>(c), view.x,
                                       view.y, seen, y, static_cast<std::size_t>(channels));
        ASSERT_NEAR(out[static_cast<std::size_t>((c * output.height + y) * output.width + x)],
                    wanted, 0.502)
            << image.width << "x" << image.height << " " << x << "," << y;
      }
    }
  }
}

TEST(Resampler, IsTheWeightedMeanOfItsDefinition) {
  for (const ImageSize image : {ImageSize{1, 1}, {5, 3}, {8, 8}, {17, 40}, {64, 9}}) {
    for (const ImageSize output : {ImageSize{1, 1}, {4, 4}, {8, 8}, {3, 11}}) {
      for (const int channels : {1, 3}) check(image, output, centre_view(image, output), channels);
      for (std::int64_t sample = 0; sample < 8; ++sample) {
        check(image, output, random_view(image, output, {.crop = true, .flip = true}, 5, 1, sample),
              3);
      }
    }
  }
}

TEST(Resampler, CopiesAnImageOfTheOutputsSize) {
  const Plane pixels = noise(12 * 7, 1);
  const View view = centre_view({12, 7}, {12, 7});
  Resampler resampler(view.x, 12, view.y, 7, 1);
  for (std::int64_t y = 0; y < 7; ++y) {
    resampler.add_row(y, std::span(pixels).subspan(static_cast<std::size_t>(12 * y), 12));
  }
  Plane out(pixels.size());
  resampler.write({}, out);
  EXPECT_EQ(out, pixels);
}

// Halving four pixels with weights 1 3 3 (1), 7 at the border: worked by hand.
TEST(Resampler, HalvesWithPillowsWeights) {
  const Plane row = {0, 80, 160, 240};
  Resampler resampler({.scale = 2, .first = 0, .begin = 0, .end = 4}, 2,
                      {.scale = 1, .first = 0, .begin = 0, .end = 1}, 1, 1);
  resampler.add_row(0, row);
  Plane out(2);
  resampler.write({}, out);
  // (3 * 0 + 3 * 80 + 1 * 160) / 7 = 57.14, (80 + 3 * 160 + 3 * 240) / 7 = 182.86
  EXPECT_EQ(out, (Plane{57, 183}));
}

}  // namespace
}  // namespace lowtide::data
