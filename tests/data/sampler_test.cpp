// Epochs: every sample once, in an order that only (seed, epoch) decides.
#include "data/sampler.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

using Order = std::vector<std::int64_t>;

Order epoch_of(Sampler& sampler, std::int64_t epoch) {
  Order order;
  for (std::int64_t i = 0; i < sampler.batches_per_epoch(); ++i) {
    const auto batch = sampler.batch(epoch, i);
    order.insert(order.end(), batch.begin(), batch.end());
  }
  return order;
}

Order sorted(Order order) {
  std::ranges::sort(order);
  return order;
}

Order counting(std::int64_t count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(Sampler, CoversEverySampleOnce) {
  for (const std::int64_t samples : {1, 2, 7, 64, 1000}) {
    for (const std::int64_t batch : {1, 3, 64, 2000}) {
      Sampler sampler(samples, batch, {.seed = 5});
      EXPECT_EQ(sampler.batches_per_epoch(), (samples + batch - 1) / batch);
      EXPECT_EQ(sorted(epoch_of(sampler, 3)), counting(samples));
    }
  }
}

TEST(Sampler, IsAPureFunctionOfSeedAndEpoch) {
  Sampler first(1000, 32, {.seed = 9});
  Sampler second(1000, 50, {.seed = 9});
  const Order zero = epoch_of(first, 0);
  const Order one = epoch_of(first, 1);
  EXPECT_NE(zero, one);
  EXPECT_EQ(epoch_of(second, 1), one);  // without going through epoch 0, in other batches
  EXPECT_EQ(epoch_of(second, 0), zero);
  Sampler other(1000, 32, {.seed = 10});
  EXPECT_NE(epoch_of(other, 0), zero);
}

TEST(Sampler, OrderStaysTheSameInEveryVersion) {
  // A resumed run must see the order of the run that wrote the checkpoint.
  Sampler sampler(8, 8, {.seed = 1});
  EXPECT_EQ(epoch_of(sampler, 0), (Order{3, 7, 5, 1, 2, 0, 6, 4}));
}

TEST(Sampler, ShufflesWithoutBias) {
  // Each sample is first in about one epoch of five; the deviation of 2000 draws is 18.
  std::vector<int> first(5);
  Sampler sampler(5, 5, {.seed = 3});
  for (std::int64_t epoch = 0; epoch < 2000; ++epoch) {
    ++first[static_cast<std::size_t>(sampler.batch(epoch, 0)[0])];
  }
  for (const int count : first) EXPECT_NEAR(count, 400, 5 * 18);
}

TEST(Sampler, KeepsOrDropsTheShortLastBatch) {
  Sampler keeps(10, 4, {.shuffle = false});
  EXPECT_EQ(keeps.batches_per_epoch(), 3);
  EXPECT_EQ(keeps.batch(0, 2).size(), 2U);
  EXPECT_EQ(epoch_of(keeps, 0), counting(10));
  Sampler drops(10, 4, {.shuffle = false, .drop_last = true});
  EXPECT_EQ(drops.batches_per_epoch(), 2);
  EXPECT_EQ(epoch_of(drops, 0), counting(8));
}

TEST(Sampler, HoldsFourBytesASample) {
  EXPECT_EQ(Sampler(1000, 10, {}).bytes(), 4000_B + 80_B);
  EXPECT_EQ(Sampler(1000, 10, {.shuffle = false}).bytes(), 80_B);
}

TEST(Sampler, RefusesWhatMakesNoBatch) {
  expect_error(ErrorCode::kInvalidArgument, {"no samples"}, [] { Sampler(0, 4, {}); });
  expect_error(ErrorCode::kInvalidArgument, {"batch of 0"}, [] { Sampler(10, 0, {}); });
  expect_error(ErrorCode::kInvalidArgument, {"10 samples in batches of 16"},
               [] { Sampler(10, 16, {.drop_last = true}); });
}

}  // namespace
}  // namespace lowtide::data
