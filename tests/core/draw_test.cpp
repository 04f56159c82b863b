// Tensors drawn by recipe: their distributions, and that only the place counts.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"

namespace lowtide::core {
namespace {

std::vector<float> drawn(const Draw& recipe, std::int64_t first, std::size_t count) {
  std::vector<float> result(count);
  draw(recipe, first, result);
  return result;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

Moments moments(const Draw& recipe) {
  const std::vector<float> x = drawn(recipe, 0, 1 << 20);
  double sum = 0;
  double squares = 0;
  Moments result;
  for (const float element : x) {
    const auto value = static_cast<double>(element);
    sum += value;
    squares += value * value;
    result.largest = std::max(result.largest, std::abs(value));
  }
  const auto n = static_cast<double>(x.size());
  result.mean = sum / n;
  result.deviation = std::sqrt(squares / n - result.mean * result.mean);
  return result;
}

TEST(Draw, ConstantsAreWhatTheySay) {
  EXPECT_EQ(drawn({.scale = 0.25F}, 3, 5), std::vector<float>(5, 0.25F));
}

TEST(Draw, NormalsHaveTheirMoments) {
  const Moments m = moments({.distribution = Distribution::kNormal, .scale = 2, .seed = 3});
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.deviation, 2, 0.01);
  EXPECT_GT(m.largest, 8);  // four deviations: one in 16,000
}

// The deviation of a standard normal between -2 and 2 is 0.87963.
TEST(Draw, TruncatedNormalsEndAtTwoDeviations) {
  const Moments m =
      moments({.distribution = Distribution::kTruncatedNormal, .scale = 0.5F, .stream = 4});
  EXPECT_NEAR(m.mean, 0, 0.003);
  EXPECT_NEAR(m.deviation, 0.5 * 0.87963, 0.002);
  EXPECT_LE(m.largest, 1);
  EXPECT_GT(m.largest, 0.999);
}

TEST(Draw, UniformsFillTheirRange) {
  const Moments m = moments({.distribution = Distribution::kUniform, .scale = 3, .seed = 9});
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.deviation, std::sqrt(3.0), 0.01);
  EXPECT_LE(m.largest, 3);
  EXPECT_GT(m.largest, 2.999);
}

TEST(Draw, AnElementDependsOnItsPlaceAlone) {
  for (const Distribution kind :
       {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    const Draw recipe{.distribution = kind, .scale = 1, .seed = 5, .stream = 6};
    const std::vector<float> whole = drawn(recipe, 0, 20000);
    for (const std::size_t first : {0U, 1U, 2U, 3U, 4U, 4099U}) {
      for (const std::size_t count : {0U, 1U, 3U, 6U, 9000U}) {
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(first);
        EXPECT_EQ(drawn(recipe, static_cast<std::int64_t>(first), count),
                  std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count)));
      }
    }
  }
}

TEST(Draw, SeedsAndStreamsDiffer) {
  const Draw recipe{.distribution = Distribution::kNormal, .scale = 1, .seed = 5, .stream = 6};
  Draw other_seed = recipe;
  other_seed.seed = 7;
  Draw other_stream = recipe;
  other_stream.stream = 7;
  const std::vector<float> x = drawn(recipe, 0, 8);
  EXPECT_NE(x, drawn(other_seed, 0, 8));
  EXPECT_NE(x, drawn(other_stream, 0, 8));
}

}  // namespace
}  // namespace lowtide::core
