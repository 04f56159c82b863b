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

TEST(Schedule, RefusesWhatHasNoRate) {
  EXPECT_THROW(learning_rate({}, 1, -1), Error);
  EXPECT_THROW(learning_rate({.kind = ScheduleKind::kStep, .step_size = 0}, 1, 5), Error);
}

}  // namespace
}  // namespace lowtide
