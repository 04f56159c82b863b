// What spilling is made of: the most bytes in a range of steps, and how long state waits for its
// use.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "plan/problem/graph_problem.h"
#include "plan/spill/leisure.h"
#include "plan/spill/range_max.h"
#include "plan/spill/relief.h"
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

std::int64_t bytes(const Problem& problem) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : problem.tensors) sum += tensor.bytes;
  return sum;
}

TEST(Relief, TakesTheBytesThatTheFileHasTimeFor) {
  const ToyNet net = wrn28_2(4);
  const Model model = read_model(net.graph, net.costs);
  const GraphProblem whole(model);
  const auto left = [&](double rate, double share) {
    return bytes(relieved(whole.problem(), {.rates = {rate, rate}, .limit = {}}, share));
  };
  const std::int64_t all = bytes(whole.problem());
  EXPECT_EQ(left(1, 1), all);    // far too slow for any tensor
  EXPECT_EQ(left(1e9, 0), all);  // nothing is asked for
  EXPECT_LT(left(2e4, 1), left(2e4, 0.5));
  EXPECT_LT(left(2e4, 0.5), all);
  EXPECT_LT(left(1e9, 1), left(2e4, 1));
}

TEST(Relief, CountsWhatIsAwayWhereItIsUsed) {
  const ToyNet net = chain(4, 1 << 20);
  const Model model = read_model(net.graph, net.costs);
  const GraphProblem whole(model);
  const Problem left = relieved(whole.problem(), {.rates = {1e9, 1e9}, .limit = {}}, 1);
  ASSERT_EQ(left.tasks.size(), whole.problem().tasks.size());
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < left.tasks.size(); ++i) {
    const Variant& before = whole.problem().tasks[TaskId(i)].variants.front();
    const Variant& after = left.tasks[TaskId(i)].variants.front();
    std::int64_t away = 0;
    for (const std::vector<TensorId>* ids : {&before.reads, &before.writes}) {
      for (const TensorId id : *ids) {
        away += whole.problem().tensors[id].bytes - left.tensors[id].bytes;
      }
    }
    EXPECT_EQ(after.workspace, before.workspace + away);
    largest = std::max(largest, away);
  }
  EXPECT_GE(largest, 1 << 20);
}

}  // namespace
}  // namespace lowtide::plan
