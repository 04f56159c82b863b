// How a budget divides: what the process needs beside the arena.
#include "train/fit/budget.h"

#include <unistd.h>

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace lowtide::train {
namespace {

TEST(RuntimeAllowance, IsWholeMebibytesAndGrowsWithEveryNeed) {
  const RuntimeNeeds base{.primitives = {.products = 2, .others = 5},
                          .nodes = 100,
                          .buffers = Bytes(1000),
                          .threads = 2};
  const Bytes allowance = runtime_allowance(base);
  EXPECT_EQ(allowance, allowance.rounded_up(1_MiB));
  EXPECT_EQ(allowance, runtime_allowance(base));
  RuntimeNeeds more = base;
  more.primitives.products = 20;
  EXPECT_GT(runtime_allowance(more), allowance);
  more = base;
  more.primitives.others = 500;
  EXPECT_GT(runtime_allowance(more), allowance);
  more = base;
  more.primitives.lowered = 1;
  EXPECT_GT(runtime_allowance(more), allowance);
  more.primitives = {};
  EXPECT_LT(runtime_allowance(more), allowance - 3_MiB);  // nor the library itself
  more = base;
  more.nodes = 10000;
  EXPECT_GT(runtime_allowance(more), allowance);
  more = base;
  more.threads = 32;
  EXPECT_GT(runtime_allowance(more), allowance);
  more = base;
  more.buffers = base.buffers + 10_MiB;
  EXPECT_EQ(runtime_allowance(more), allowance + 10_MiB);
}

TEST(SettleRuntime, CountsWhatTheProcessReallyUses) {
  const RuntimeNeeds few{.nodes = 1};
  EXPECT_GE(settle_runtime(few), runtime_allowance(few));
  const Bytes large = runtime_allowance(few) + 64_MiB;
  const std::vector<char> ballast(static_cast<std::size_t>(large.count()), 'x');
  EXPECT_GE(settle_runtime(few), large);
  EXPECT_EQ(ballast[static_cast<std::size_t>(large.count()) / 2], 'x');
}

// A deep network's programs are bound after the measurement.
TEST(SettleRuntime, LeavesRoomForWhatNodesWillTake) {
  const RuntimeNeeds few{.nodes = 1};
  const RuntimeNeeds deep{.nodes = 40'000};
  const Bytes large = runtime_allowance(deep) + 64_MiB;
  const std::vector<char> ballast(static_cast<std::size_t>(large.count()), 'x');
  EXPECT_GE(settle_runtime(deep), settle_runtime(few) + 36_MiB);
  EXPECT_EQ(ballast[static_cast<std::size_t>(large.count()) / 2], 'x');
}

TEST(SettleBudget, IsWhatWasAskedForOrWhatIsThere) {
  EXPECT_EQ(settle_budget(123_MiB), 123_MiB);
  // What is free moves; it is something, and no more than the machine has.
  const Bytes found = settle_budget(std::nullopt);
  EXPECT_GT(found, 1_MiB);
  EXPECT_LE(found, ::sysconf(_SC_PHYS_PAGES) * Bytes(::sysconf(_SC_PAGESIZE)));
}

}  // namespace
}  // namespace lowtide::train
