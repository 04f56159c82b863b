// What a kernel is said to take when the clock reads what a busy machine makes of it.
#include "train/fit/repeated_times.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace lowtide::train {
namespace {

RepeatedTimes after(std::initializer_list<double> runs) {
  RepeatedTimes times;
  for (const double seconds : runs) times.add(seconds);
  return times;
}

TEST(RepeatedTimes, TheFastestOfAFewThatAgreeCounts) {
  EXPECT_FALSE(after({}).settled());
  EXPECT_FALSE(after({1.0, 1.1}).settled());
  EXPECT_TRUE(after({1.2, 1.0, 1.1}).settled());
  EXPECT_EQ(after({1.2, 1.0, 1.1}).seconds(), 1.0);
}

TEST(RepeatedTimes, SlowRunsDoNotMatterOnceTwoFastOnesAgree) {
  const RepeatedTimes times = after({50, 1.0, 7, 1.5});
  EXPECT_TRUE(times.settled());
  EXPECT_EQ(times.seconds(), 1.0);
}

TEST(RepeatedTimes, WhatNoOtherRunConfirmsIsRepeated) {
  RepeatedTimes times = after({100, 40, 1});
  EXPECT_FALSE(times.settled());
  times.add(1.1);
  EXPECT_TRUE(times.settled());
  EXPECT_EQ(times.seconds(), 1);
}

TEST(RepeatedTimes, GivesUpWhereNoTwoRunsAgree) {
  RepeatedTimes times;
  double seconds = 1;
  for (std::size_t run = 0; run < RepeatedTimes::kMost; ++run, seconds *= 3) {
    EXPECT_FALSE(times.settled());
    times.add(seconds);
  }
  EXPECT_TRUE(times.settled());
  EXPECT_EQ(times.seconds(), 1);
}

TEST(RepeatedTimes, OneRunIsAllThereMayBeTimeFor) {
  EXPECT_EQ(after({3}).seconds(), 3);
  EXPECT_EQ(after({}).seconds(), std::nullopt);
}

}  // namespace
}  // namespace lowtide::train
