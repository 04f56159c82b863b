// What spilling is made of: the most bytes in a range of steps, and how long state waits for its
// use.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "plan/spill/leisure.h"
#include "plan/spill/range_max.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

TEST(RangeMax, AgreesWithAList) {
  core::RandomStream random(1, 1);
  for (std::size_t size = 1; size < 40; ++size) {
    std::vector<Bytes> list(size);
    for (Bytes& one : list) one = Bytes(static_cast<std::int64_t>(random.below(100)) - 50);
    RangeMax tree(list);
    for (int i = 0; i < 200; ++i) {
      const std::size_t first = random.below(size);
      const std::size_t last = first + 1 + random.below(size - first);
      const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = list.begin() + static_cast<std::ptrdiff_t>(last);
      ASSERT_EQ(tree.max(first, last), *std::max_element(begin, end));
      const Bytes amount(static_cast<std::int64_t>(random.below(40)) - 20);
      std::for_each(begin, end, [&](Bytes& one) { one += amount; });
      tree.add(first, last, amount);
    }
  }
}

// Of a chain's weights the first is used by the first node and the last update; of two in the
// middle the later one waits longer, at the beginning as at the end.
TEST(Leisure, GrowsTowardsTheLoss) {
  const ToyNet net = chain(6, 4096);
  const core::IdVector<ValueId, double> shares = leisure(net.graph, net.costs);
  std::vector<double> found;
  for (std::size_t i = 0; i < net.graph.value_count(); ++i) {
    const graph::Value& value = net.graph.value(ValueId(i));
    if (value.role == graph::Role::kParameter && !value.producer.valid()) {
      found.push_back(shares[ValueId(i)]);
    }
  }
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found.front(), 0);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_GT(found.back(), 0.2);
  EXPECT_LT(found.back(), 0.5);
}

}  // namespace
}  // namespace lowtide::plan
