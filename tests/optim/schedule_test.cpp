#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"
#include "lowtide/optimizer.h"

namespace lowtide {
namespace {

TEST(Schedule, ConstantKeepsTheRate) {
  EXPECT_EQ(learning_rate({}, 0.5, 0), 0.5);
  EXPECT_EQ(learning_rate({}, 0.5, 1000000), 0.5);
}

TEST(Schedule, WarmupRisesToTheRate) {
  const Schedule schedule{.kind = ScheduleKind::kLinear, .warmup = 4, .total_steps = 8};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.8, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.8, 3), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.8, 4), 0.8);
}

TEST(Schedule, LinearFallsToTheLeastRate) {
  const Schedule schedule{.kind = ScheduleKind::kLinear, .min_lr = 0.1, .total_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.9, 0), 0.9);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.9, 1), 0.7);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.9, 4), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0.9, 9), 0.1);
}

TEST(Schedule, CosineFallsByHalfACosine) {
  const Schedule schedule{.kind = ScheduleKind::kCosine, .warmup = 2, .total_steps = 6};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1, 2), 1);
  EXPECT_NEAR(learning_rate(schedule, 1, 3), 0.8535533905932737, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 1, 4), 0.5, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 1, 6), 0, 1e-15);
}

TEST(Schedule, StepsFallByAFactor) {
  const Schedule schedule{.kind = ScheduleKind::kStep, .warmup = 1, .step_size = 3, .gamma = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 8, 1), 8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 8, 3), 8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 8, 4), 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 8, 7), 2);
}

// Numbers of PyTorch's formula, computed apart from this code.
TEST(Schedule, OneCycleRisesAndFalls) {
  const Schedule usual{.kind = ScheduleKind::kOneCycle, .total_steps = 10};
  const std::vector<double> rates = {0.04,
                                     0.52,
                                     1.0,
                                     0.9504846320134737,
                                     0.8117456539497631,
                                     0.6112620219362893,
                                     0.38874197806371075,
                                     0.18825834605023697,
                                     0.049519367986526286,
                                     4e-06};
  for (std::size_t t = 0; t < rates.size(); ++t) {
    EXPECT_NEAR(learning_rate(usual, 1, static_cast<std::int64_t>(t)), rates[t], 1e-14) << t;
  }
  EXPECT_NEAR(learning_rate(usual, 1, 50), 4e-06, 1e-18);
  const Schedule other{.kind = ScheduleKind::kOneCycle,
                       .warmup = 2,
                       .pct_start = 0.5,
                       .div_factor = 10,
                       .final_div_factor = 100,
                       .total_steps = 9};
  EXPECT_DOUBLE_EQ(learning_rate(other, 0.5, 0), 0.25);
  const std::vector<double> later = {0.05,
                                     0.20547117626563682,
                                     0.45702882373436315,
                                     0.47526697475862917,
                                     0.3058246032555895,
                                     0.09453342198578131,
                                     0.0005};
  for (std::size_t t = 0; t < later.size(); ++t) {
    EXPECT_NEAR(learning_rate(other, 0.5, static_cast<std::int64_t>(t) + 2), later[t], 1e-14) << t;
  }
  // A cycle of one step has no way to go.
  const Schedule short_one{.kind = ScheduleKind::kOneCycle, .total_steps = 1};
  EXPECT_TRUE(learning_rate(short_one, 1, 0) > 0);
}

// torch.optim.lr_scheduler.OneCycleLR of PyTorch 2.14, over SGD in float64.
TEST(Schedule, OneCycleMovesTheMomentumAgainstTheRate) {
  const auto momentum = [](const Schedule& schedule, std::int64_t step) {
    return with_momentum(schedule, {.momentum = 0.3}, step).momentum;
  };
  const Schedule usual{.kind = ScheduleKind::kOneCycle, .total_steps = 10};
  const std::vector<double> expected = {0.95,
                                        0.8999999999999999,
                                        0.85,
                                        0.854951556604879,
                                        0.8688255099070633,
                                        0.8888739533021842,
                                        0.9111260466978157,
                                        0.9311744900929366,
                                        0.945048443395121,
                                        0.95};
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_NEAR(momentum(usual, static_cast<std::int64_t>(t)), expected[t], 1e-14) << t;
  }
  EXPECT_NEAR(momentum(usual, 50), 0.95, 1e-14);
  const Schedule other{.kind = ScheduleKind::kOneCycle,
                       .warmup = 2,
                       .pct_start = 0.5,
                       .base_momentum = 0.7,
                       .max_momentum = 0.9,
                       .total_steps = 9};
  EXPECT_EQ(momentum(other, 0), 0.9);
  EXPECT_EQ(momentum(other, 1), 0.9);
  const std::vector<double> later = {0.9,
                                     0.8309016994374947,
                                     0.7190983005625052,
                                     0.7099031132097581,
                                     0.7777479066043685,
                                     0.8623489801858734,
                                     0.9};
  for (std::size_t t = 0; t < later.size(); ++t) {
    EXPECT_NEAR(momentum(other, static_cast<std::int64_t>(t) + 2), later[t], 1e-14) << t;
  }
}

TEST(Schedule, OnlyOneCycleMovesTheMomentumAndOnlyWhereAsked) {
  const OptimizerSettings sgd{.momentum = 0.3};
  const Schedule still{.kind = ScheduleKind::kOneCycle, .cycle_momentum = false, .total_steps = 10};
  EXPECT_EQ(with_momentum(still, sgd, 2).momentum, 0.3);
  EXPECT_EQ(with_momentum({.kind = ScheduleKind::kCosine, .total_steps = 10}, sgd, 2).momentum,
            0.3);
  const Schedule cycle{.kind = ScheduleKind::kOneCycle, .total_steps = 10};
  const OptimizerSettings adam{.kind = OptimizerKind::kAdam, .momentum = 0.3};
  EXPECT_EQ(with_momentum(cycle, adam, 2).momentum, 0.3);
  EXPECT_DOUBLE_EQ(with_momentum(cycle, adam, 2).betas[0], 0.85);
  EXPECT_EQ(with_momentum(cycle, adam, 2).betas[1], 0.999);
}

TEST(Schedule, RefusesWhatHasNoRate) {
  EXPECT_THROW(learning_rate({}, 1, -1), Error);
  EXPECT_THROW(learning_rate({.kind = ScheduleKind::kStep, .step_size = 0}, 1, 5), Error);
  EXPECT_THROW(learning_rate({}, NAN, 0), Error);
  EXPECT_THROW(learning_rate({.kind = ScheduleKind::kLinear, .min_lr = NAN}, 1, 0), Error);
  EXPECT_THROW(
      learning_rate({.kind = ScheduleKind::kOneCycle, .div_factor = 0, .total_steps = 4}, 1, 0),
      Error);
}

}  // namespace
}  // namespace lowtide
