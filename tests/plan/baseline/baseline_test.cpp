// Baselines: their plans are right and compute the same, and do what their papers say.
#include "plan/baseline/baseline.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "plan/execute.h"
#include "plan/planner.h"
#include "plan/problem/graph_problem.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

using Faults = std::vector<std::string>;

constexpr Bytes kPlenty{std::int64_t{1} << 50U};

// By the names that ToyNet gives.
Layers layers_of(const graph::Graph& graph) {
  Layers layers;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    Layer layer = Layer::kOther;
    const auto is = [&](const char* kind) { return node.name.rfind(kind, 0) == 0; };
    if (node.phase == graph::Phase::kForward && node.name.find('.') == std::string::npos) {
      if (is("conv")) layer = Layer::kProduct;
      if (is("norm")) layer = Layer::kNormalize;
      if (is("relu")) layer = Layer::kActivate;
      if (is("pool")) layer = Layer::kPool;
      if (is("add")) layer = Layer::kJoin;
    }
    layers.push_back(layer);
  }
  return layers;
}

Planner planner(const ToyNet& net, Policy policy, std::optional<SpillTier> tier = std::nullopt) {
  return {net.graph, net.costs,
          std::vector<Homes>{{.offsets = net.offsets, .arena_bytes = net.persistent_bytes()}},
          Planning{.policy = policy, .tier = tier, .layers = layers_of(net.graph)}};
}

std::set<std::string> repeated(const ToyNet& net, const Plan& plan) {
  std::set<std::string> names;
  for (const Step& step : plan.steps) {
    if (step.again) names.insert(net.graph.node(step.node).name);
  }
  return names;
}

TEST(Baseline, PlansAreRightAndComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ToyNet net = random_net(seed);
    const Results expected = evaluate(net.graph);
    const SpillTier tier{.rates = {50, 100}, .limit = kPlenty, .smallest = Bytes(1)};
    for (const Policy policy : all_policies()) {
      for (const std::optional<SpillTier>& maybe : {std::optional<SpillTier>(), {tier}}) {
        Planner candidates = planner(net, policy, maybe);
        const Bytes smallest = candidates.smallest_arena();
        for (const Bytes size : {smallest, smallest + Bytes(400), kPlenty}) {
          const auto answer = candidates.make(size);
          ASSERT_TRUE(std::holds_alternative<Plan>(answer)) << seed << " " << name(policy);
          const Plan& plan = std::get<Plan>(answer);
          EXPECT_LE(plan.arena_bytes, size);
          EXPECT_EQ(plan.policy, policy);
          ASSERT_EQ(net.check(plan), Faults()) << seed << " " << name(policy);
          ASSERT_EQ(execute(net.graph, plan), expected) << seed << " " << name(policy);
        }
        EXPECT_TRUE(std::holds_alternative<Infeasible>(candidates.make(smallest - Bytes(1))));
      }
    }
  }
}

TEST(Baseline, PlansOfRealNetworksAreRight) {
  for (const ToyNet& net : {resnet50(4), vgg16(2), wrn28_2(10)}) {
    for (const Policy policy : all_policies()) {
      if (!is_baseline(policy)) continue;
      Planner candidates = planner(net, policy);
      const Plan plan = std::get<Plan>(candidates.make(candidates.smallest_arena()));
      EXPECT_EQ(net.check(plan), Faults()) << name(policy);
      EXPECT_LE(plan.arena_bytes, net.plan(Policy::kKeep).arena_bytes) << name(policy);
    }
  }
}

TEST(Baseline, NoneIsEverBetterThanLowtide) {
  for (const ToyNet& net : {resnet50(2), vgg16(1), wrn28_2(4), random_net(5)}) {
    Planner lowtide = planner(net, Policy::kLowtide);
    for (const Policy policy : all_policies()) {
      Planner other = planner(net, policy);
      const Bytes smallest = other.smallest_arena();
      EXPECT_LE(lowtide.smallest_arena(), smallest) << name(policy);
      EXPECT_LE(std::get<Plan>(lowtide.make(smallest)).predicted_seconds,
                std::get<Plan>(other.make(smallest)).predicted_seconds)
          << name(policy);
    }
  }
}

// Bytes of the forward pass that the backward pass finds in memory.
std::int64_t saved(const ToyNet& net, Policy policy) {
  const Model model = read_model(net.graph, net.costs);
  const GraphProblem graph_problem(model);
  const Problem& problem = graph_problem.problem();
  const Layers layers = layers_of(net.graph);
  TaskLayers task_layers;
  std::size_t end = 0;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    task_layers.push_back(layers[graph_problem.node(TaskId(i))]);
    if (problem.tasks[TaskId(i)].repeatable) end = i + 1;
  }
  const Choices choices = policy == Policy::kKeep ? Timeline(problem).choices()
                                                  : baseline(problem, task_layers, policy).front();
  const Timeline line(problem, choices);
  // The loss and its gradient come right behind the forward pass.
  const Timeline::Time now = line.first(TaskId(end + 1));
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const TensorId id(i);
    const TaskId producer = problem.tensors[id].producer;
    if (!producer.valid() || producer.index() >= end) continue;
    const std::size_t at = line.touch_at(id, now);
    if (at < line.touches(id).size() && !line.touches(id)[at].write) {
      bytes += problem.tensors[id].bytes;
    }
  }
  return bytes;
}

// Numbers for WRN-28-2 from counting saved tensors by hand, in floats a sample.
TEST(Baseline, NoBnHalvesWhatAWideResNetSaves) {
  const ToyNet net = wrn28_2(1);
  EXPECT_NEAR(static_cast<double>(saved(net, Policy::kKeep)) / 4, 953344, 10000);
  EXPECT_NEAR(static_cast<double>(saved(net, Policy::kNoBn)) / 4, 478208, 10000);
}

TEST(Baseline, NoBnRepeatsNormsAndActivationsOnly) {
  const ToyNet net = wrn28_2(2);
  Planner no_bn = planner(net, Policy::kNoBn);
  const Plan plan = std::get<Plan>(no_bn.make(kPlenty));
  EXPECT_GT(plan.recomputed, 20);
  for (const std::string& node : repeated(net, plan)) {
    EXPECT_TRUE(node.rfind("norm", 0) == 0 || node.rfind("relu", 0) == 0) << node;
  }
}

TEST(Baseline, ResidualCheckpointsKeepEveryOtherSum) {
  const ToyNet net = wrn28_2(1);
  const std::int64_t one = saved(net, Policy::kResidual1);
  const std::int64_t two = saved(net, Policy::kResidual2);
  // The sums of four blocks each of 32 x 32 x 32, 64 x 16 x 16 and 128 x 8 x 8, and small things
  // that may not run again.
  constexpr std::int64_t kSums = 4 * (32 * 32 * 32 + 64 * 16 * 16 + 128 * 8 * 8);
  EXPECT_NEAR(static_cast<double>(one) / 4, kSums, 20000);
  EXPECT_NEAR(static_cast<double>(two) / 4, kSums / 2.0, 20000);
  Planner keep = planner(net, Policy::kKeep);
  Planner checkpoints = planner(net, Policy::kResidual2);
  const auto moving = [&](Planner& of) {
    return static_cast<double>((of.smallest_arena() - net.persistent_bytes()).count());
  };
  EXPECT_LT(2.5 * moving(checkpoints), moving(keep));
  // Nothing to hold on to: as keeping.
  const ToyNet plain = vgg16(1);
  Planner none = planner(plain, Policy::kResidual1);
  EXPECT_EQ(std::get<Plan>(none.make(kPlenty)).recomputed, 0);
}

TEST(Baseline, SuperNeuronsRepeatsCheapLayersOnly) {
  for (const ToyNet& net : {resnet50(2), vgg16(1)}) {
    Planner candidates = planner(net, Policy::kSuperNeurons);
    const Plan plan = std::get<Plan>(candidates.make(kPlenty));
    EXPECT_GT(plan.recomputed, 5);
    for (const std::string& node : repeated(net, plan)) {
      EXPECT_TRUE(node.rfind("conv", 0) != 0 && node.rfind("add", 0) != 0) << node;
    }
  }
}

// A segment that is small beside the largest backward step runs again once; a large one for each
// reader.
TEST(Baseline, SuperNeuronsChoosesBySegment) {
  const auto repetitions = [](std::int64_t wide) {
    Trained t;
    ValueId x = t.conv(t.input(1000), 1000, 64);
    x = t.relu(t.pool(t.relu(t.norm(x)), 1000));  // one segment of 4250 bytes
    x = t.conv(x, 1000, 64);
    x = t.conv(x, wide, 64);
    const ToyNet net = t.finish(x);
    Planner candidates = planner(net, Policy::kSuperNeurons);
    const Plan plan = std::get<Plan>(candidates.make(kPlenty));
    return plan.recomputed;
  };
  EXPECT_EQ(repetitions(10000), 4);
  EXPECT_GT(repetitions(1000), 4);
}

TEST(Baseline, SuperNeuronsMovesOutputsOfProductsOnly) {
  const ToyNet net = wrn28_2(2);
  const SpillTier tier{.rates = {1e5, 1e5}, .limit = kPlenty, .smallest = Bytes(1)};
  Planner candidates = planner(net, Policy::kSuperNeurons, tier);
  const Plan plan = std::get<Plan>(candidates.make(candidates.smallest_arena()));
  EXPECT_FALSE(plan.transfers.empty());
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_EQ(net.graph.value(transfer.value).name.rfind("conv", 0), 0U)
        << net.graph.value(transfer.value).name;
  }
}

// Tasks that read what the one before wrote, and a backward pass that reads each again.
Problem chain_problem(int layers) {
  Problem problem;
  const auto tensor = [&](std::int64_t bytes) {
    return problem.tensors.push_back({.bytes = bytes, .producer = {}});
  };
  const auto task = [&](std::vector<TensorId> reads, TensorId write, bool repeatable) {
    problem.tensors[write].producer = TaskId(problem.tasks.size());
    problem.tasks.push_back({.variants = {{.seconds = 1,
                                           .seconds_again = 1,
                                           .workspace = 0,
                                           .reads = std::move(reads),
                                           .writes = {write},
                                           .in_place = {}}},
                             .repeatable = repeatable,
                             .deadline = {}});
  };
  std::vector<TensorId> outputs = {tensor(1)};
  for (int i = 0; i < layers; ++i) {
    outputs.push_back(tensor(1));
    task({outputs[outputs.size() - 2]}, outputs.back(), true);
  }
  TensorId gradient = tensor(1);
  task({outputs.back()}, gradient, false);
  for (int i = layers - 1; i >= 0; --i) {
    const TensorId next = tensor(1);
    task({gradient, outputs[static_cast<std::size_t>(i)]}, next, false);
    gradient = next;
  }
  problem.tensors[gradient].lasting = true;
  return problem;
}

TEST(Dtr, DropsNothingWhereAllFits) {
  const Problem problem = chain_problem(50);
  const std::vector<Choices> found = dtr(problem, 1000);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].repetitions.empty());
}

TEST(Dtr, KeepsToTheLimit) {
  const Problem problem = chain_problem(64);
  for (std::int64_t limit = 60; limit > 8; limit -= 4) {
    const std::vector<Choices> found = dtr(problem, limit);
    ASSERT_EQ(found.size(), 1U) << limit;
    EXPECT_LE(Timeline(problem, found[0]).peak(), limit);
    EXPECT_FALSE(found[0].repetitions.empty());
  }
  EXPECT_TRUE(dtr(problem, 3).empty());
}

// The paper's theorem: memory for about the square root of the layers, work in proportion to them.
TEST(Dtr, NeedsTheSquareRootOfMemoryForLinearWork) {
  for (const int layers : {64, 256, 1024}) {
    const Problem problem = chain_problem(layers);
    const auto limit = static_cast<std::int64_t>(4 * std::sqrt(layers));
    const std::vector<Choices> found = dtr(problem, limit);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_LE(found[0].repetitions.size(), 4U * static_cast<std::size_t>(layers)) << layers;
  }
}

// Three tensors and room for two. Cost / (bytes x seconds since the last use) decides which one of
// the first two goes when the third comes, and so which one is computed again.
TEST(Dtr, DropsTheLeastWorthPerByteAndSecond) {
  const auto again = [](double first_seconds, std::int64_t first_bytes, double second_seconds) {
    Problem problem;
    const auto add = [&](double seconds, std::int64_t bytes, std::vector<TensorId> reads,
                         bool repeatable) {
      const TensorId made =
          problem.tensors.push_back({.bytes = bytes, .producer = TaskId(problem.tasks.size())});
      problem.tasks.push_back({.variants = {{.seconds = seconds,
                                             .seconds_again = seconds,
                                             .workspace = 0,
                                             .reads = std::move(reads),
                                             .writes = {made},
                                             .in_place = {}}},
                               .repeatable = repeatable,
                               .deadline = {}});
      return made;
    };
    const TensorId first = add(first_seconds, first_bytes, {}, true);
    const TensorId second = add(second_seconds, 10, {}, true);
    add(1000, 0, {}, false);  // time goes by
    const TensorId third = add(1, 10, {}, false);
    const TensorId fourth = add(1, 0, {third}, false);  // the third goes
    add(1, 0, {fourth, second}, false);
    add(1, 0, {fourth, first}, false);
    const std::vector<Choices> found = dtr(problem, first_bytes + 10);
    EXPECT_EQ(found.size(), 1U);
    EXPECT_EQ(found.at(0).repetitions.size(), 1U);
    return found.at(0).repetitions.at(0).task.index();
  };
  EXPECT_EQ(again(1, 10, 1), 0U);      // equal but for time: the older one
  EXPECT_EQ(again(100, 10, 1), 1U);    // dear to compute
  EXPECT_EQ(again(100, 2000, 1), 0U);  // but large
}

// What measuring finds moves from process to process; the smallest arena must not.
TEST(Steady, TheSmallestArenaDoesNotDependOnMeasuredCosts) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const ToyNet net = seed < 8 ? random_net(seed) : wrn28_2(static_cast<std::int64_t>(seed) - 7);
    Costs measured = net.costs;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      measured[NodeId(i)].seconds *= 0.3 + static_cast<double>((i * 7919 + seed) % 23) / 9;
    }
    const std::vector<Homes> homes = {
        {.offsets = net.offsets, .arena_bytes = net.persistent_bytes()}};
    for (const bool spills : {false, true}) {
      const SpillTier tier{.rates = {1e4, 1e4}, .limit = kPlenty, .smallest = Bytes(1)};
      const std::optional<SpillTier> maybe = spills ? std::optional(tier) : std::nullopt;
      Planner by_model(net.graph, net.costs, homes, Planning{.tier = maybe});
      Planner by_measuring(net.graph, measured, homes,
                           Planning{.tier = maybe, .model_costs = &net.costs});
      const Bytes smallest = by_model.smallest_arena();
      EXPECT_EQ(by_measuring.smallest_arena(), smallest) << seed;
      const auto answer = by_measuring.make(smallest);
      ASSERT_TRUE(std::holds_alternative<Plan>(answer)) << seed;
      EXPECT_EQ(check(net.graph, measured, net.offsets, std::get<Plan>(answer)), Faults());
      EXPECT_TRUE(std::holds_alternative<Infeasible>(by_measuring.make(smallest - Bytes(1))));
      // And what is measured is what is weighed.
      const Bytes more =
          smallest + Bytes((net.plan(Policy::kKeep).arena_bytes - smallest).count() / 2);
      const Plan theirs = std::get<Plan>(by_model.make(more));
      double seconds = theirs.stall_seconds;
      for (const Step& step : theirs.steps) seconds += measured[step.node].seconds;
      if (!spills) {
        EXPECT_LE(std::get<Plan>(by_measuring.make(more)).predicted_seconds, seconds * (1 + 1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace lowtide::plan
