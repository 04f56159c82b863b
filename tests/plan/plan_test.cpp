// Plans of graphs small enough to see through: sharing, state, views, lifetimes, answers.
#include "plan/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/text.h"
#include "plan/execute.h"
#include "plan/planner.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

using graph::Phase;
using graph::Role;

// Names of the nodes in the order they run; "+" marks recomputations.
std::string run_order(const ToyNet& net, const Plan& plan) {
  std::string order;
  for (const Step& step : plan.steps) {
    order += (order.empty() ? "" : " ") + net.graph.node(step.node).name + (step.again ? "+" : "");
  }
  return order;
}

void expect_right(const ToyNet& net, const Plan& plan) {
  EXPECT_EQ(net.check(plan), std::vector<std::string>()) << to_text(net.graph, plan);
  EXPECT_EQ(execute(net.graph, plan), evaluate(net.graph)) << to_text(net.graph, plan);
}

TEST(Plan, FreesAValueAfterItsLastReader) {
  // x(100) -> a(200) -> b(300) -> y(100): never more than two at a time, rounded to 64 bytes.
  ToyNet net;
  const ValueId x = net.input("x", 100);
  const ValueId a = net.mix("a", {x}, 200);
  const ValueId b = net.mix("b", {a}, 300);
  net.output(net.mix("y", {b}, 100));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.peak_live_bytes, Bytes(256 + 320));
  EXPECT_EQ(plan.arena_bytes, plan.peak_live_bytes);
  EXPECT_EQ(net.graph.node(plan.steps[static_cast<std::size_t>(plan.peak_step)].node).name, "b");
  expect_right(net, plan);
}

TEST(Plan, OverwritesAnInputNobodyReadsAgain) {
  ToyNet net;
  const ValueId x = net.input("x", 256);
  const ValueId a = net.blend("a", {x});
  net.output(net.blend("b", {a}));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.arena_bytes, Bytes(256));
  EXPECT_EQ(plan.buffers.size(), 1U);
  expect_right(net, plan);
}

TEST(Plan, NeverOverwritesScalarsOutputsStateOrLaterReads) {
  ToyNet net;
  const ValueId x = net.input("x", 128);
  const ValueId rate = net.scalar("rate");
  const ValueId w = net.weight("w", 128);
  net.output(x);
  net.output(net.blend("of_output", {x}));
  net.output(net.blend("of_scalar", {rate}));
  net.output(net.blend("of_state", {w}));
  const ValueId a = net.mix("a", {x}, 128);
  const ValueId b = net.blend("b", {a});
  net.output(net.mix("c", {a, b}, 128));
  const Plan plan = net.plan(Policy::kKeep);
  for (const Step& step : plan.steps) EXPECT_NE(step.in[0], step.out[0]);
  expect_right(net, plan);
}

TEST(Plan, OverwritesOneInputForOneOutputOnly) {
  // The other operand lies in the same buffer and the card does not let it be overwritten there.
  ToyNet net;
  const ValueId x = net.input("x", 128);
  const ValueId y = net.view("y", x);
  net.output(net.blend("three", {net.mix("a", {x}, 128), x, y}));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.steps.back().out[0], plan.steps.back().in[0]);
  expect_right(net, plan);
}

TEST(Plan, AViewKeepsTheBytesItShows) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId a = net.mix("a", {x}, 128);
  const ValueId v = net.view("v", net.view("u", a));
  const ValueId b = net.mix("b", {x}, 128);
  net.output(net.mix("c", {b, v}, 64));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.arena_bytes, Bytes(128 + 128 + 64));
  expect_right(net, plan);
}

TEST(Plan, ANewStateVersionLandsOnTheOld) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId w = net.weight("w", 100);
  const ValueId g = net.mix("g", {x, w}, 100);
  net.phase(Phase::kUpdate);
  net.replace("w'", w, {g});
  net.phase(Phase::kBackward);
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.steps.back().in[0], plan.steps.back().out[0]);
  EXPECT_EQ(plan.buffers[plan.steps.back().out[0].buffer].offset, Bytes(0));
  EXPECT_EQ(net.persistent_bytes(), Bytes(128));
  expect_right(net, plan);
}

TEST(Plan, UpdatesRunWhenTheGradientIsReadyAndTheOldVersionIsDone) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId w1 = net.weight("w1", 64);
  const ValueId w2 = net.weight("w2", 64);
  const ValueId a = net.mix("a", {x, w1}, 64);
  const ValueId b = net.mix("b", {a, w2}, 64);
  net.phase(Phase::kBackward);
  const ValueId dw2 = net.mix("dw2", {b, a}, 64);
  const ValueId da = net.mix("da", {b, w2}, 64);  // reads w2 after its gradient is ready
  const ValueId dw1 = net.mix("dw1", {da, x}, 64);
  const ValueId dx = net.mix("dx", {da}, 64);
  net.output(dx);
  net.phase(Phase::kUpdate);
  net.replace("w1'", w1, {dw1});
  net.replace("w2'", w2, {dw2});
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(run_order(net, plan), "a b dw2 da w2' dw1 w1' dx");
  expect_right(net, plan);
}

// As where a weight's gradient reshapes an activation.
TEST(Plan, ViewsThatOnlyTheBackwardPassReadsFollowWhatIsRepeated) {
  ToyNet net;
  std::vector<ValueId> layers = {net.input("x", 64)};
  for (int i = 0; i < 6; ++i)
    layers.push_back(net.mix(core::text("a{}", i), {layers.back()}, 4096));
  net.phase(Phase::kBackward);
  ValueId gradient = layers.back();
  for (int i = 5; i > 0; --i) {
    const ValueId view = net.view(core::text("v{}", i), layers[static_cast<std::size_t>(i)]);
    gradient = net.mix(core::text("d{}", i), {gradient, view}, 4096);
  }
  net.output(gradient);
  const auto infeasible = std::get<Infeasible>(net.make(Bytes(1)));
  const Plan plan = std::get<Plan>(net.make(infeasible.smallest_arena_bytes));
  EXPECT_TRUE(std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.again && net.graph.node(step.node).op == &view_op();
  }));
  expect_right(net, plan);
}

TEST(Plan, RunningStatisticsAreUpdatedInTheForwardPassOnce) {
  Trained t;
  ValueId x = t.input(512);
  for (int i = 0; i < 6; ++i) x = t.relu(t.norm(t.conv(x, 512, 64)));
  const ToyNet net = t.finish(x);
  for (const Policy policy : {Policy::kKeep, Policy::kChen, Policy::kLowtide}) {
    expect_right(net, net.plan(policy));
  }
}

TEST(Plan, DeadNodesAreLeftOut) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  net.mix("unused", {x}, 1024);
  net.input("unused_input", 64);
  net.output(net.mix("y", {x}, 64));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(run_order(net, plan), "y");
  EXPECT_DOUBLE_EQ(plan.lower_bound_seconds, 1);
  EXPECT_EQ(plan.buffers.size(), 3U);  // the unused input keeps a place to be filled
  expect_right(net, plan);
}

TEST(Plan, EmptyTensorsAndEmptyGraphs) {
  ToyNet net;
  const ValueId x = net.input("x", 0);
  const ValueId w = net.weight("w", 0);
  net.output(net.blend("y", {net.mix("a", {x, w}, 0)}));
  const Plan plan = net.plan(Policy::kLowtide);
  EXPECT_EQ(plan.arena_bytes, Bytes(0));
  expect_right(net, plan);

  const ToyNet empty;
  EXPECT_EQ(empty.plan(Policy::kLowtide).steps.size(), 0U);
  EXPECT_EQ(empty.check(empty.plan()), std::vector<std::string>());
}

TEST(Plan, ScratchCountsAtItsStepOnly) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId a = net.mix("a", {x}, 64, {.scratch = 1000});
  net.output(net.mix("b", {a}, 64, {.scratch = 500}));
  const Plan plan = net.plan(Policy::kKeep);
  EXPECT_EQ(plan.peak_live_bytes, Bytes(64 + 64 + 1024));
  expect_right(net, plan);
}

TEST(Plan, TheAnswerToTooLittleMemory) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId w = net.weight("w", 640);
  const ValueId big = net.mix("big", {x, w}, 6400, {.scratch = 128});
  net.output(net.mix("y", {big}, 64));
  const Bytes needed(640 + 64 + 6400 + 128);
  const auto answer = net.make(needed - Bytes(1));
  ASSERT_TRUE(std::holds_alternative<Infeasible>(answer));
  const auto& infeasible = std::get<Infeasible>(answer);
  EXPECT_EQ(infeasible.smallest_arena_bytes, needed);
  EXPECT_EQ(infeasible.peak_node, "big");
  ASSERT_EQ(infeasible.residents.size(), 4U);
  EXPECT_EQ(infeasible.residents[0].name, "big");
  EXPECT_EQ(infeasible.residents[0].bytes, Bytes(6400));
  EXPECT_EQ(infeasible.residents[1].name, "w");
  EXPECT_EQ(infeasible.residents[2].name, "workspace of big");
  EXPECT_TRUE(std::holds_alternative<Plan>(net.make(needed)));
}

TEST(Plan, PolicyNames) {
  for (const Policy policy : all_policies()) {
    EXPECT_EQ(parse_policy(name(policy)), policy);
  }
  try {
    parse_policy("best");
    FAIL() << "an unknown name must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "'best' is not a policy; choose one of lowtide, keep, chen, no-bn, residual-1, "
                 "residual-2, superneurons, dtr");
  }
}

TEST(Plan, TextIsStable) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  const ValueId w = net.weight("w", 64);
  net.output(net.blend("y", {net.mix("a", {x, w}, 64, {.scratch = 1})}));
  EXPECT_EQ(to_text(net.graph, net.plan(Policy::kKeep)),
            "plan keep: 2 steps, 0 recomputed, 0 kept, arena 256, peak 256 at step 0\n"
            "buffers: offset size steps content\n"
            "  @0 0 64 0..1 persistent %1 w\n"
            "  @1 128 64 0..0 transient %0 x\n"
            "  @2 64 64 0..1 transient %2 a\n"
            "  @3 192 64 0..0 scratch -\n"
            "steps: outputs = op(inputs)\n"
            "  0 %2@2 = Mix(%0@1, %1@0) scratch @3  # a\n"
            "  1 %3@2 = Blend(%2@2)  # y\n");
}

}  // namespace
}  // namespace lowtide::plan
