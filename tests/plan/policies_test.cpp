// Policies on random, regular and real-size graphs: every plan is checked, the small ones also run
// on real bytes and compared with the graph's own results.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "plan/execute.h"
#include "plan/planner.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

using Faults = std::vector<std::string>;

Planner planner(const ToyNet& net, Policy policy = Policy::kLowtide) {
  return {net.graph, net.costs, net.offsets, net.persistent_bytes(), policy};
}

std::int64_t transient(const ToyNet& net, Bytes arena) {
  return (arena - net.persistent_bytes()).count();
}

// Sizes from the smallest arena to one that holds everything.
std::vector<Bytes> budgets(const ToyNet& net, Planner& planner, int count) {
  const std::int64_t from = planner.smallest_arena().count();
  const std::int64_t to = net.plan(Policy::kKeep).arena_bytes.count();
  std::vector<Bytes> result;
  for (int i = 0; i <= count; ++i) result.emplace_back(from + (to - from) * i / count);
  return result;
}

class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, EveryPlanIsRightAndComputesTheSame) {
  for (int i = 0; i < 25; ++i) {
    const int seed = 25 * GetParam() + i;
    const ToyNet net = random_net(static_cast<std::uint64_t>(seed));
    ASSERT_EQ(graph::verify(net.graph), Faults()) << seed;
    const Results expected = evaluate(net.graph);
    for (const Policy policy : {Policy::kKeep, Policy::kChen, Policy::kLowtide}) {
      Planner candidates = planner(net, policy);
      std::set<std::int64_t> seen;
      for (const Bytes budget : budgets(net, candidates, 5)) {
        const auto answer = candidates.make(std::max(budget, candidates.smallest_arena()));
        ASSERT_TRUE(std::holds_alternative<Plan>(answer)) << seed;
        const Plan& plan = std::get<Plan>(answer);
        if (!seen.insert(plan.arena_bytes.count()).second) continue;
        ASSERT_EQ(net.check(plan), Faults()) << "seed " << seed << "\n"
                                             << graph::dump(net.graph) << to_text(net.graph, plan);
        ASSERT_EQ(execute(net.graph, plan), expected)
            << "seed " << seed << "\n"
            << graph::dump(net.graph) << to_text(net.graph, plan);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 8));

TEST(Policies, SmallestArenaIsExact) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ToyNet net = random_net(seed);
    for (const Policy policy : {Policy::kKeep, Policy::kChen, Policy::kLowtide}) {
      const Bytes smallest = planner(net, policy).smallest_arena();
      const auto fits = net.make(smallest, policy);
      ASSERT_TRUE(std::holds_alternative<Plan>(fits)) << seed;
      EXPECT_EQ(std::get<Plan>(fits).arena_bytes, smallest);
      const auto short_of_one = net.make(smallest - Bytes(1), policy);
      ASSERT_TRUE(std::holds_alternative<Infeasible>(short_of_one)) << seed;
      EXPECT_EQ(std::get<Infeasible>(short_of_one).smallest_arena_bytes, smallest);
    }
  }
}

TEST(Policies, MoreMemoryNeverMeansMoreTime) {
  for (const ToyNet& net : {wrn28_2(4), random_net(11), random_net(12), chain(30, 640)}) {
    Planner candidates = planner(net);
    double before = std::numeric_limits<double>::infinity();
    for (const Bytes budget : budgets(net, candidates, 60)) {
      const Plan plan = std::get<Plan>(candidates.make(budget));
      EXPECT_LE(plan.arena_bytes, budget);
      EXPECT_LE(plan.predicted_seconds, before);
      EXPECT_GE(plan.predicted_seconds, plan.lower_bound_seconds);
      before = plan.predicted_seconds;
    }
    EXPECT_DOUBLE_EQ(before, net.plan(Policy::kKeep).predicted_seconds);
  }
}

TEST(Policies, IsDeterministic) {
  const ToyNet net = wrn28_2(2);
  const Bytes budget(net.persistent_bytes().count() +
                     transient(net, net.plan(Policy::kKeep).arena_bytes) / 2);
  EXPECT_EQ(to_text(net.graph, std::get<Plan>(net.make(budget))),
            to_text(net.graph, std::get<Plan>(net.make(budget))));
}

// A chain of n equal layers: keep needs n tensors, square-root segments about 2 sqrt(n).
TEST(Policies, ChenReachesTheSquareRoot) {
  constexpr std::int64_t kBytes = 1024;
  for (const int layers : {25, 100, 400}) {
    const ToyNet net = chain(layers, kBytes);
    const std::int64_t kept = transient(net, net.plan(Policy::kKeep).arena_bytes) / kBytes;
    Planner chen = planner(net, Policy::kChen);
    const std::int64_t least = transient(net, chen.smallest_arena()) / kBytes;
    EXPECT_GE(kept, layers);
    EXPECT_LE(static_cast<double>(least), 2 * std::sqrt(layers) + 8) << layers;
    const Plan plan = std::get<Plan>(chen.make(chen.smallest_arena()));
    EXPECT_LE(plan.recomputed, 2 * layers);
    EXPECT_EQ(net.check(plan), Faults());
  }
}

TEST(Policies, LowtideIsNoWorseThanTheOthers) {
  for (const ToyNet& net : {wrn28_2(4), vgg16(1), chain(64, 1024)}) {
    Planner lowtide = planner(net);
    Planner chen = planner(net, Policy::kChen);
    EXPECT_LE(lowtide.smallest_arena(), chen.smallest_arena());
    for (const Bytes budget : budgets(net, chen, 10)) {
      const auto theirs = chen.make(budget);
      if (std::holds_alternative<Infeasible>(theirs)) continue;
      EXPECT_LE(std::get<Plan>(lowtide.make(budget)).predicted_seconds,
                std::get<Plan>(theirs).predicted_seconds);
    }
  }
}

TEST(Policies, RealNetworksAreCheckedAtEveryBudget) {
  for (const ToyNet& net : {resnet50(16), vgg16(16), wrn28_2(100)}) {
    Planner lowtide = planner(net);
    for (const Bytes budget : budgets(net, lowtide, 12)) {
      const Plan plan = std::get<Plan>(lowtide.make(budget));
      EXPECT_EQ(net.check(plan), Faults());
      // The deepest schedules, near the smallest budget, are the hardest to pack.
      EXPECT_LE(static_cast<double>(transient(net, plan.arena_bytes)),
                1.06 * static_cast<double>(transient(net, plan.peak_live_bytes)));
    }
  }
}

TEST(Policies, ResNetAtHalfTheMemoryCostsLittle) {
  const ToyNet net = resnet50(16);
  const std::int64_t all = transient(net, net.plan(Policy::kKeep).arena_bytes);
  const Plan plan = std::get<Plan>(net.make(net.persistent_bytes() + Bytes(all / 2)));
  EXPECT_LE(plan.predicted_seconds, 1.10 * plan.lower_bound_seconds);
}

TEST(Policies, NothingThatMustRunOnceRunsTwice) {
  const ToyNet net = resnet50(2);
  Planner lowtide = planner(net);
  const Plan plan = std::get<Plan>(lowtide.make(lowtide.smallest_arena()));
  EXPECT_GT(plan.recomputed, 0);
  for (const Step& step : plan.steps) {
    if (!step.again) continue;
    const graph::Node& node = net.graph.node(step.node);
    EXPECT_EQ(node.op->repeat(), graph::Repeat::kExact) << node.name;
    EXPECT_EQ(node.phase, graph::Phase::kForward) << node.name;
  }
}

// A convolution behind a normalisation: its weights' gradient reads y, or what y was made of, which
// the normalisation's own gradient keeps in any case.
TEST(Policies, AnAlternativeSavesWhatItDoesNotRead) {
  Trained trained;
  constexpr std::int64_t kBytes = 6400;
  ValueId x = trained.input(kBytes);
  for (int i = 0; i < 6; ++i) x = trained.conv(trained.norm(x), kBytes, 64, 1);
  ToyNet net = trained.finish(x);
  const Bytes alone = planner(net).smallest_arena();
  const Bytes all = net.plan(Policy::kKeep).arena_bytes;
  net.offer_alternatives(0.01, [] { return true; });
  const auto uses = [&](const Plan& plan) {
    return std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
      return net.graph.node(step.node).alternative_to.valid();
    });
  };
  const Plan kept = net.plan(Policy::kKeep);
  EXPECT_EQ(kept.arena_bytes, all);
  EXPECT_EQ(uses(kept), 0);
  const Plan half = std::get<Plan>(net.make(all - Bytes(3 * kBytes)));
  EXPECT_GE(uses(half), 3);
  EXPECT_EQ(half.recomputed, 0);
  // As near to the bound as the search cares for.
  EXPECT_LE(half.predicted_seconds, kept.predicted_seconds + 0.06 + 1e-9);
  EXPECT_EQ(net.check(half), Faults());
  EXPECT_EQ(execute(net.graph, half), evaluate(net.graph));
  EXPECT_LE(planner(net).smallest_arena(), alone);
}

// What it reads must not be replaced before it runs, even if nothing else reads it so late.
TEST(Policies, UpdatesWaitForAlternatives) {
  ToyNet net;
  const ValueId x = net.input("x", 640);
  const ValueId scale = net.weight("scale", 64);
  const ValueId w = net.weight("w", 64);
  const ValueId y = net.blend("y", {x, scale});
  const ValueId z = net.mix("z", {y, w}, 640);
  net.phase(graph::Phase::kBackward);
  const ValueId dscale = net.mix("d_scale", {z}, 64);
  const ValueId dw = net.mix("d_w", {y, z}, 64);
  net.phase(graph::Phase::kUpdate);
  net.replace("scale'", scale, {dscale});
  net.replace("w'", w, {dw});
  net.offer_alternatives(0, [] { return true; });
  ASSERT_EQ(graph::verify(net.graph), Faults());
  Planner candidates = planner(net);
  const Plan plan = std::get<Plan>(candidates.make(candidates.smallest_arena()));
  EXPECT_EQ(net.check(plan), Faults()) << to_text(net.graph, plan);
  EXPECT_EQ(execute(net.graph, plan), evaluate(net.graph));
}

TEST(Policies, AShorterBatchTakesOverTheSchedulesOfTheWholeOne) {
  const ToyNet whole = resnet50(16);
  const ToyNet shorter = resnet50(15);
  Planner first = planner(whole);
  const auto homes = [](const ToyNet& net) {
    return std::vector<Homes>{{.offsets = net.offsets, .arena_bytes = net.persistent_bytes()}};
  };
  Planner second(shorter.graph, shorter.costs, homes(shorter), Planning{.like = &first});
  EXPECT_LE(second.smallest_arena(), first.smallest_arena());
  for (const Bytes arena : budgets(whole, first, 4)) {
    const Plan long_plan = std::get<Plan>(first.make(arena));
    const Plan short_plan = std::get<Plan>(second.make(arena));
    EXPECT_EQ(shorter.check(short_plan), Faults());
    EXPECT_LE(short_plan.predicted_seconds, long_plan.predicted_seconds);
  }
}

TEST(Policies, OtherNodesAreSearchedAllTheSame) {
  const ToyNet net = chain(12, 1024);
  const ToyNet shallower = chain(9, 1024);
  Planner other = planner(shallower);
  Planner alone = planner(net);
  Planner beside(net.graph, net.costs,
                 {{.offsets = net.offsets, .arena_bytes = net.persistent_bytes()}},
                 Planning{.like = &other});
  EXPECT_EQ(beside.smallest_arena(), alone.smallest_arena());
}

TEST(Policies, AThousandLayers) {
  const ToyNet net = chain(1000, 4096);
  Planner lowtide = planner(net);
  const Plan plan = std::get<Plan>(lowtide.make(lowtide.smallest_arena()));
  EXPECT_EQ(net.check(plan), Faults());
  EXPECT_LE(transient(net, plan.arena_bytes) / 4096, 70);
}

}  // namespace
}  // namespace lowtide::plan
