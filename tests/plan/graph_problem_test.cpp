// The search's view of a graph: what it counts is what the schedule of its answer takes.
#include "plan/problem/graph_problem.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "plan/schedule.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

// Any repetitions at all, some of each stage.
Choices random_choices(const Problem& problem, std::uint64_t seed) {
  core::RandomStream random(seed, 1);
  Timeline line(problem);
  const std::size_t tasks = problem.tasks.size();
  for (std::size_t i = 0; i < 2 * tasks; ++i) {
    const Repetition what{TaskId(random.below(tasks)), TaskId(random.below(tasks))};
    if (line.allowed(what) && !line.contains(what)) line.add(what);
  }
  return line.choices();
}

TEST(GraphProblem, CountsTheBytesOfTheSchedule) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ToyNet net = random_net(seed);
    const Model model = read_model(net.graph, net.costs);
    const GraphProblem graph_problem(model);
    for (const Choices& choices : {Timeline(graph_problem.problem()).choices(),
                                   random_choices(graph_problem.problem(), seed)}) {
      const Timeline line(graph_problem.problem(), choices);
      const Schedule schedule = make_schedule(model, graph_problem.sequence(choices));
      const std::vector<Bytes> live = profile(schedule);
      EXPECT_EQ(*std::max_element(live.begin(), live.end()), Bytes(line.peak()))
          << "seed " << seed << ", " << choices.repetitions.size() << " repetitions\n"
          << graph::dump(net.graph);
    }
  }
}

TEST(GraphProblem, UpdatesFollowTheTaskBeforeThem) {
  const ToyNet net = wrn28_2(2);
  const Model model = read_model(net.graph, net.costs);
  const GraphProblem graph_problem(model);
  const Problem& problem = graph_problem.problem();
  core::IdVector<NodeId, int> runs(model.nodes.size(), 0);
  for (const Execution& execution : graph_problem.sequence(Timeline(problem).choices())) {
    EXPECT_FALSE(execution.again);
    ++runs[execution.node];
  }
  std::size_t updates = 0;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const NodeId id(i);
    EXPECT_EQ(runs[id], model.nodes[id].needed ? 1 : 0) << net.graph.node(id).name;
    updates += net.graph.node(id).phase == graph::Phase::kUpdate ? 1U : 0U;
  }
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    EXPECT_NE(net.graph.node(graph_problem.node(TaskId(i))).phase, graph::Phase::kUpdate);
  }
  EXPECT_GT(updates, 20U);
}

TEST(GraphProblem, WhatFollowsATaskOfTheForwardPassLeavesItRepeatable) {
  ToyNet net;
  const ValueId x = net.input("x", 1024);
  const ValueId statistics = net.mix("statistics", {x}, 64);
  const ValueId y = net.mix("y", {x}, 1024);
  // The first reads what the task before it does not, the second what that writes.
  net.replace("mean'", net.weight("mean", 64, graph::Role::kStatistic), {statistics});
  const ValueId z = net.mix("z", {y}, 64);
  net.replace("scale'", net.weight("scale", 64, graph::Role::kStatistic), {z});
  net.output(z);
  const Model model = read_model(net.graph, net.costs);
  const GraphProblem graph_problem(model);
  std::vector<std::string> tasks;
  for (std::size_t i = 0; i < graph_problem.problem().tasks.size(); ++i) {
    const NodeId node = graph_problem.node(TaskId(i));
    tasks.push_back(net.graph.node(node).name);
    EXPECT_EQ(graph_problem.problem().tasks[TaskId(i)].repeatable, tasks.back() != "mean'");
  }
  EXPECT_EQ(tasks, (std::vector<std::string>{"statistics", "y", "mean'", "z"}));
}

}  // namespace
}  // namespace lowtide::plan
