// Explanations: what is said of a tensor or a node is what the plan does.
#include "plan/explain/explain.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "plan/planner.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

// The example of docs/planning.md: four layers, of which the tightest plan computes one again.
class Explained : public testing::Test {
 protected:
  Explained() : net_(chain(4, 1024)) {
    Planner planner(net_.graph, net_.costs, net_.offsets, net_.persistent_bytes(),
                    Policy::kLowtide);
    keep_ = net_.plan(Policy::kKeep);
    tight_ = std::get<Plan>(planner.make(keep_.arena_bytes - Bytes(1)));
  }

  [[nodiscard]] std::string say(const Plan& plan, std::string_view name) const {
    return explain(net_.graph, net_.costs, plan, name);
  }

  void expect(const std::string& text, const std::vector<std::string>& parts) const {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
    }
  }

  ToyNet net_;
  Plan keep_;
  Plan tight_;
};

TEST_F(Explained, WhatIsComputedAgain) {
  ASSERT_EQ(tight_.recomputed, 2);
  std::string relu;  // the layer's output, of which the convolution's goes at once
  for (const Step& step : tight_.steps) {
    if (step.again) relu = net_.graph.node(step.node).name;
  }
  ASSERT_EQ(relu.rfind("relu", 0), 0U);
  expect(say(tight_, relu), {"node '" + relu + "': Blend, forward, 1 s, at steps ",
                             "again at step ", "'" + relu + "' for 'd_", "tensor '" + relu + "': ",
                             "1 KiB", "computed by '" + relu, "not in memory, which saves 1 KiB"});
}

TEST_F(Explained, WhatIsKept) {
  expect(say(keep_, "relu1"), {"at step 1 of 24", "once: what it computes stays",
                               "in memory from step 1 to ", "idle; without it 1 KiB less",
                               "kept: to compute it again before 'd_conv2.w' would take 2 s "
                               "(2 nodes)"});
}

TEST_F(Explained, WhatCannotBeComputedAgain) {
  expect(say(keep_, "x"), {"tensor 'x'", "input", "cannot be computed again: 'x' is an input"});
  expect(say(keep_, "loss"), {"once: "});
}

TEST_F(Explained, PartsOfNamesWhereNothingHasTheWhole) {
  const std::string text = say(keep_, "d_relu");
  expect(text, {"node 'd_relu1'", "node 'd_relu7'", "tensor 'd_relu3'"});
  EXPECT_EQ(say(keep_, "relu1").find("d_relu1'"), say(keep_, "relu1").rfind("d_relu1'"));
  EXPECT_EQ(say(keep_, "nothing has this name"), "");
}

TEST_F(Explained, IdleTensorsAreTheLargestThatThePeakDoesNotTouch) {
  const std::vector<IdleTensor> idle = idle_at_peak(net_.graph, net_.costs, keep_, 10);
  ASSERT_GE(idle.size(), 4U);
  for (std::size_t i = 1; i < idle.size(); ++i) EXPECT_GE(idle[i - 1].bytes, idle[i].bytes);
  const Step& peak = keep_.steps[static_cast<std::size_t>(keep_.peak_step)];
  const graph::Node& node = net_.graph.node(peak.node);
  for (const IdleTensor& tensor : idle) {
    EXPECT_EQ(std::count(node.inputs.begin(), node.inputs.end(), tensor.value), 0);
    EXPECT_EQ(std::count(node.outputs.begin(), node.outputs.end(), tensor.value), 0);
    EXPECT_FALSE(tensor.why.empty());
  }
  EXPECT_EQ(idle_at_peak(net_.graph, net_.costs, keep_, 2).size(), 2U);
  // The input cannot, a layer's output can come back.
  const auto find = [&](const std::string& name) {
    return *std::find_if(idle.begin(), idle.end(), [&](const IdleTensor& tensor) {
      return net_.graph.value(tensor.value).name == name;
    });
  };
  EXPECT_FALSE(find("x").repeatable);
  EXPECT_TRUE(find("relu1").repeatable);
  EXPECT_DOUBLE_EQ(find("relu1").again_seconds, 2);
}

TEST_F(Explained, WhatIsSpilled) {
  const SpillTier tier{
      .rates = {1e4, 1e4}, .limit = Bytes(std::int64_t{1} << 40U), .smallest = Bytes(1)};
  Planner planner(net_.graph, net_.costs,
                  {Homes{.offsets = net_.offsets, .arena_bytes = net_.persistent_bytes()}},
                  Policy::kKeep, tier);
  const Plan plan = std::get<Plan>(planner.make(planner.smallest_arena()));
  ASSERT_FALSE(plan.transfers.empty());
  const std::string name = net_.graph.value(plan.transfers.front().value).name;
  expect(say(plan, name), {"stored to the spill file", "fetched from the spill file"});
}

}  // namespace
}  // namespace lowtide::plan
