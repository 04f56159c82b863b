// The partition of parallel_for: whole, disjoint, and the same every time.
#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace lowtide::core {
namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

Ranges partition(std::int64_t count, std::int64_t grain) {
  Ranges ranges;
  std::mutex lock;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard guard(lock);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST(ParallelFor, RangesCoverTheCountOnce) {
  for (const std::int64_t count : {1, 2, 3, 7, 64, 1000, 12345}) {
    for (const std::int64_t grain : {0, 1, 10, 1000, 100000}) {
      std::int64_t next = 0;
      for (const auto& [begin, end] : partition(count, grain)) {
        EXPECT_EQ(begin, next);
        EXPECT_LT(begin, end);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ParallelFor, NothingToDoCallsNothing) {
  EXPECT_TRUE(partition(0, 1).empty());
  EXPECT_TRUE(partition(-3, 1).empty());
}

TEST(ParallelFor, PartitionIsTheSameEveryTime) {
  const Ranges first = partition(1001, 3);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(partition(1001, 3), first);
}

TEST(ParallelFor, FewItemsStayOnOneThread) {
  EXPECT_EQ(partition(100, 100), (Ranges{{0, 100}}));
  EXPECT_LE(partition(1 << 20, 1).size(), static_cast<std::size_t>(parallel_parts()));
}

TEST(ParallelFor, NestedCallsRunWholeInTheirCaller) {
  std::atomic<int> whole = 0;
  parallel_for(parallel_parts(), 1, [&](std::int64_t outer_begin, std::int64_t outer_end) {
    for (std::int64_t i = outer_begin; i < outer_end; ++i) {
      parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
        if (begin == 0 && end == 1000) ++whole;
      });
    }
  });
  EXPECT_EQ(whole, parallel_parts());
}

}  // namespace
}  // namespace lowtide::core
