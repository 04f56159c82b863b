// Readers: each turn once, and the first failure whoever meets it.
#include "data/readers.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lowtide::data {
namespace {

class Reading : public testing::TestWithParam<int> {};

TEST_P(Reading, TakesEachTurnOnce) {
  Readers readers(GetParam());
  for (const std::size_t count : {0U, 1U, 2U, 500U, 3U}) {
    std::vector<std::atomic<int>> taken(count);
    readers.for_each(count, [&](std::size_t i) { ++taken[i]; });
    for (const auto& times : taken) EXPECT_EQ(times, 1);
  }
}

TEST_P(Reading, ThrowsTheErrorOfTheLeastTurnAndGoesOn) {
  Readers readers(GetParam());
  for (int repetition = 0; repetition < 50; ++repetition) {
    try {
      readers.for_each(64, [](std::size_t i) {
        if (i % 7 == 6) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "6");
    }
    std::atomic<int> taken = 0;
    readers.for_each(9, [&](std::size_t) { ++taken; });
    EXPECT_EQ(taken, 9);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Reading, testing::Values(0, 1, 3, 8));

}  // namespace
}  // namespace lowtide::data
