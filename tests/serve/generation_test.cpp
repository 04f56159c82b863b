// How one token is chosen.
#include "serve/generation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::serve {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The share of draws, evenly spaced, that choose each token.
std::map<std::int64_t, double> shares(const std::vector<float>& logits, const Choice& choice) {
  constexpr int kDraws = 10'000;
  std::map<std::int64_t, double> result;
  for (int i = 0; i < kDraws; ++i) {
    result[choose_token(logits, choice, (i + 0.5) / kDraws)] += 1.0 / kDraws;
  }
  return result;
}

TEST(Choice, FollowsTheSoftmaxOfTheTemperature) {
  const std::vector<float> logits = {1, -2, 3, 0};
  for (const double temperature : {0.25, 1.0, 4.0}) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit} / temperature);
    const auto found = shares(logits, {.temperature = temperature});
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double share = std::exp(double{logits[i]} / temperature) / sum;
      const auto one = found.find(static_cast<std::int64_t>(i));
      EXPECT_NEAR(one == found.end() ? 0 : one->second, share, 2e-4) << temperature << " " << i;
    }
  }
}

TEST(Choice, TopKLeavesTheOthersOut) {
  const std::vector<float> logits = {1, -2, 3, 1};
  const auto two = shares(logits, {.top_k = 2});
  EXPECT_EQ(two.size(), 2U);
  const double odds = std::exp(2.0);  // of token 2 against token 0, the first of equal ones
  EXPECT_NEAR(two.at(2), odds / (1 + odds), 2e-4);
  EXPECT_NEAR(two.at(0), 1 / (1 + odds), 2e-4);
  EXPECT_EQ(shares(logits, {.top_k = 1}).at(2), shares(logits, {.temperature = 0}).at(2));
  EXPECT_EQ(shares(logits, {.top_k = 9}), shares(logits, {}));
}

// The likeliest first, however many there are and however few are put in order.
TEST(Choice, OfManyTokensIsThatOfAllInOrder) {
  std::vector<float> logits;
  for (int i = 0; i < 300; ++i) logits.push_back(static_cast<float>(i * 37 % 101) / 20);
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return logit(a) > logit(b); });
  for (const std::size_t among : {1U, 31U, 32U, 33U, 64U, 150U, 300U}) {
    double sum = 0;
    for (std::size_t i = 0; i < among; ++i) sum += std::exp(double{logit(order[i])});
    double before = 0;
    for (std::size_t i = 0; i < among; ++i) {
      const double share = std::exp(double{logit(order[i])}) / sum;
      EXPECT_EQ(
          choose_token(logits, {.top_k = static_cast<std::int64_t>(among)}, before + share / 2),
          order[i])
          << among << " " << i;
      before += share;
    }
  }
}

TEST(Choice, OfNoTemperatureIsTheFirstOfTheLargest) {
  for (const double draw : {0.0, 0.5, 0.999}) {
    EXPECT_EQ(choose_token(std::vector<float>{0, 2, 2, 1}, {.temperature = 0}, draw), 1);
  }
}

TEST(Choice, LeavesOutWhatCannotBe) {
  const std::vector<float> masked = {-kInfinity, 0, -kInfinity, 0};
  const auto found = shares(masked, {});
  EXPECT_EQ(found.size(), 2U);
  EXPECT_NEAR(found.at(1), 0.5, 1e-9);
  // Large logits do not overflow.
  EXPECT_EQ(choose_token(std::vector<float>{1e30F, -1e30F}, {}, 0.999), 0);
}

TEST(Choice, RefusesWhatIsNoNumber) {
  EXPECT_THROW(choose_token(std::vector<float>{0, NAN}, {}, 0), Error);
  EXPECT_THROW(choose_token(std::vector<float>{0, kInfinity}, {}, 0), Error);
  EXPECT_THROW(choose_token(std::vector<float>{-kInfinity, -kInfinity}, {}, 0), Error);
}

}  // namespace
}  // namespace lowtide::serve
