// Splitting: every sample on one side, the same side for the same seed.
#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "data/memory_dataset.h"
#include "data/scratch.h"

namespace lowtide::data {
namespace {

std::shared_ptr<const Dataset> counting(std::int64_t samples) {
  auto dataset = std::make_shared<MemoryDataset>(
      samples, std::vector<Field>{{"x", core::DType::kInt64, core::Shape()}});
  std::vector<std::int64_t> x(static_cast<std::size_t>(samples));
  std::iota(x.begin(), x.end(), std::int64_t{0});
  dataset->set(0, x);
  return dataset;
}

std::vector<std::int64_t> contents(const Dataset& dataset) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(dataset.samples()));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  std::vector<std::int64_t> values(numbers.size());
  dataset.read(0, numbers, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(Split, PutsEverySampleOnOneSideInOrder) {
  for (const std::int64_t samples : {2, 3, 10, 1000}) {
    for (const double share : {0.001, 0.1, 0.5, 0.999}) {
      const Parts parts = split(counting(samples), share, 7);
      const std::vector<std::int64_t> training = contents(*parts.training);
      const std::vector<std::int64_t> validation = contents(*parts.validation);
      EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
      EXPECT_TRUE(std::is_sorted(validation.begin(), validation.end()));
      std::set<std::int64_t> all(training.begin(), training.end());
      all.insert(validation.begin(), validation.end());
      EXPECT_EQ(all.size(), static_cast<std::size_t>(samples));
      EXPECT_EQ(training.size() + validation.size(), static_cast<std::size_t>(samples));
      const auto wanted = static_cast<std::int64_t>(share * static_cast<double>(samples) + 0.5);
      EXPECT_EQ(parts.validation->samples(), std::clamp<std::int64_t>(wanted, 1, samples - 1));
    }
  }
}

TEST(Split, DependsOnTheSeedAlone) {
  const auto chosen = [](std::uint64_t seed) {
    return contents(*split(counting(200), 0.25, seed).validation);
  };
  EXPECT_EQ(chosen(3), chosen(3));
  EXPECT_NE(chosen(3), chosen(4));
  // No part of the order is favoured: the mean of 50 of 0..199 has deviation 7.
  const std::vector<std::int64_t> some = chosen(5);
  EXPECT_NEAR(static_cast<double>(std::accumulate(some.begin(), some.end(), std::int64_t{0})) / 50,
              99.5, 28);
}

TEST(Split, RefusesWhatLeavesNothing) {
  for (const double share : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    expect_error(ErrorCode::kInvalidArgument, {"--val-split"},
                 [&] { split(counting(10), share, 0); });
  }
  expect_error(ErrorCode::kInvalidArgument, {"memory", "single sample"},
               [] { split(counting(1), 0.5, 0); });
}

TEST(Split, ReadsMoreSamplesAtOnceThanItsBufferHolds) {
  const Parts parts = split(counting(3000), 0.3, 1);
  const auto& training = dynamic_cast<const Subset&>(*parts.training);
  EXPECT_EQ(contents(training), std::vector(training.chosen().begin(), training.chosen().end()));
}

}  // namespace
}  // namespace lowtide::data
