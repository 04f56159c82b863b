// The checker rejects every way we know to spoil a plan, and names what is wrong.
#include <algorithm>

#include <gtest/gtest.h>

#include "plan/planner.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

// The smallest plan of a chain of layers: it recomputes, overwrites and updates.
class CheckTest : public testing::Test {
 protected:
  CheckTest() : net_(chain(8, 256)) {
    Planner planner(net_.graph, net_.costs, net_.offsets, net_.persistent_bytes(), Policy::kChen);
    plan_ = std::get<Plan>(planner.make(planner.smallest_arena()));
  }

  // The faults, one a line.
  [[nodiscard]] std::string faults() const {
    std::string all;
    for (const std::string& fault : net_.check(plan_)) all += fault + "\n";
    return all;
  }

  [[nodiscard]] bool mentions(const std::string& words) const {
    const bool found = faults().find(words) != std::string::npos;
    EXPECT_TRUE(found) << "'" << words << "' is not in:\n" << faults();
    return found;
  }

  // The first step that satisfies the condition.
  template <class F>
  std::size_t step(F condition) const {
    const auto it = std::find_if(plan_.steps.begin(), plan_.steps.end(), condition);
    EXPECT_NE(it, plan_.steps.end());
    return static_cast<std::size_t>(it - plan_.steps.begin());
  }

  [[nodiscard]] std::size_t step_of(const std::string& node) const {
    return step([&](const Step& s) { return net_.graph.node(s.node).name == node; });
  }

  ToyNet net_;
  Plan plan_;
};

TEST_F(CheckTest, AcceptsTheUntouchedPlan) {
  EXPECT_EQ(faults(), "");
  EXPECT_GT(plan_.recomputed, 0);
}

TEST_F(CheckTest, EveryMovedBuffer) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.buffers.size(); ++i) {
    plan_ = good;
    Buffer& buffer = plan_.buffers[BufferId(i)];
    buffer.offset = good.arena_bytes;
    EXPECT_NE(faults(), "") << "buffer " << i << " beyond the arena";
    plan_ = good;
    plan_.buffers[BufferId(i)].offset += Bytes(32);
    EXPECT_NE(faults(), "") << "buffer " << i << " out of line";
  }
}

TEST_F(CheckTest, EveryShortenedLife) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.buffers.size(); ++i) {
    plan_ = good;
    Buffer& buffer = plan_.buffers[BufferId(i)];
    if (buffer.first == buffer.last) continue;
    --buffer.last;
    EXPECT_NE(faults(), "") << "buffer " << i;
    plan_ = good;
    ++plan_.buffers[BufferId(i)].first;
    EXPECT_NE(faults(), "") << "buffer " << i;
  }
}

TEST_F(CheckTest, EveryDroppedStep) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.steps.size(); ++i) {
    plan_ = good;
    plan_.steps.erase(plan_.steps.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(faults(), "") << "step " << i;
  }
}

TEST_F(CheckTest, EveryWrongPlace) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.steps.size(); ++i) {
    for (std::size_t k = 0; k < good.steps[i].in.size(); ++k) {
      for (std::size_t b = 0; b < good.buffers.size(); ++b) {
        if (good.steps[i].in[k].buffer == BufferId(b)) continue;
        if (good.buffers[BufferId(b)].offset == good.buffers[good.steps[i].in[k].buffer].offset) {
          continue;
        }
        plan_ = good;
        plan_.steps[i].in[k].buffer = BufferId(b);
        EXPECT_NE(faults(), "") << "step " << i << " input " << k << " in buffer " << b;
      }
    }
  }
}

TEST_F(CheckTest, StepsInTheWrongOrder) {
  const std::size_t relu = step_of("relu1");
  std::swap(plan_.steps[relu], plan_.steps[relu - 1]);
  EXPECT_TRUE(mentions("runs before 'conv0' is computed"));
}

TEST_F(CheckTest, RecomputationWithoutTheMark) {
  plan_.steps[step([](const Step& s) { return s.again; })].again = false;
  EXPECT_TRUE(mentions("runs a second time but is not marked as again"));
}

TEST_F(CheckTest, RepeatedLoss) {
  plan_.steps.push_back(plan_.steps[step_of("loss")]);
  plan_.steps.back().again = true;
  EXPECT_TRUE(mentions("repeats a node that must not be repeated"));
}

TEST_F(CheckTest, UpdateBeforeTheLastReaderOfTheOldWeight) {
  const std::size_t update = step_of("conv2.w'");
  const std::size_t reader = step_of("d_conv2.x");
  ASSERT_LT(reader, update);
  std::rotate(plan_.steps.begin() + static_cast<std::ptrdiff_t>(reader),
              plan_.steps.begin() + static_cast<std::ptrdiff_t>(update),
              plan_.steps.begin() + static_cast<std::ptrdiff_t>(update) + 1);
  EXPECT_TRUE(mentions("(d_conv2.x) reads 'conv2.w' where it is not"));
}

TEST_F(CheckTest, NewStateBesideTheOld) {
  Step& update = plan_.steps[step_of("conv2.w'")];
  update.out[0] = update.in[1];
  EXPECT_TRUE(mentions("does not write 'conv2.w'' over the version it replaces"));
}

TEST_F(CheckTest, OutputOverAnInputThatTheCardProtects) {
  Step& conv = plan_.steps[step_of("conv2")];
  conv.out[0] = conv.in[0];
  EXPECT_TRUE(mentions("writes 'conv2' over its input"));
}

TEST_F(CheckTest, WrongTotals) {
  plan_.predicted_seconds += 1;
  EXPECT_TRUE(mentions("the plan says"));
  plan_.predicted_seconds -= 1;
  plan_.peak_live_bytes -= Bytes(64);
  EXPECT_TRUE(mentions("bytes are in use at one step"));
}

TEST_F(CheckTest, IdsThatDoNotExist) {
  Plan broken = plan_;
  plan_.steps[0].node = NodeId(10'000);
  EXPECT_TRUE(mentions("runs a node that does not exist"));
  plan_ = broken;
  plan_.steps[0].in.clear();
  EXPECT_TRUE(mentions("has places for 0 inputs"));
  plan_ = broken;
  plan_.steps[0].out[0].buffer = BufferId();
  EXPECT_TRUE(mentions("has no buffer"));
}

TEST(CheckAlternatives, OneOfThemRunsOnceAndReadsItsOwnInputs) {
  Trained trained;
  ValueId x = trained.input(640);
  for (int i = 0; i < 3; ++i) x = trained.conv(trained.norm(x), 640, 64, 1);
  ToyNet net = trained.finish(x);
  net.offer_alternatives(0.1, [] { return true; });
  const Plan good = net.plan(Policy::kKeep);
  ASSERT_EQ(net.check(good), std::vector<std::string>());
  const auto original = [&](const Step& step) {
    return net.graph.node(step.node).name == "d_conv3.w";
  };
  const auto at = std::find_if(good.steps.begin(), good.steps.end(), original) - good.steps.begin();
  const auto step = static_cast<std::size_t>(at);
  NodeId other;
  for (std::size_t i = 0; i < net.graph.node_count(); ++i) {
    if (net.graph.node(NodeId(i)).alternative_to == good.steps[step].node) other = NodeId(i);
  }
  ASSERT_TRUE(other.valid());
  const auto mentions = [&](const Plan& plan, const std::string& words) {
    std::string all;
    for (const std::string& fault : net.check(plan)) all += fault + "\n";
    EXPECT_NE(all.find(words), std::string::npos) << "'" << words << "' is not in:\n" << all;
  };
  Plan plan = good;
  plan.steps[step].node = other;
  mentions(plan, "has places for 2 inputs and 1 outputs, the node 4 and 1");
  // With places for its inputs, but y where x should be.
  std::vector<Place>& in = plan.steps[step].in;
  in.insert(in.begin() + 1, 2, in[0]);
  mentions(plan, "(d_conv3.w through norm2) reads");
  // After the node itself.
  plan = good;
  plan.steps.insert(plan.steps.begin() + at, good.steps[step]);
  plan.steps[step + 1].node = other;
  plan.steps[step + 1].in.insert(plan.steps[step + 1].in.begin() + 1, 2, plan.steps[step].in[0]);
  mentions(plan, "runs a second time but is not marked as again");
}

TEST(CheckScratch, MustBeThereLargeEnoughAndFree) {
  ToyNet net;
  const ValueId x = net.input("x", 64);
  net.output(net.mix("y", {x}, 64, {.scratch = 128}));
  const Plan good = net.plan(Policy::kKeep);
  ASSERT_EQ(net.check(good), std::vector<std::string>());
  Plan plan = good;
  plan.steps[0].scratch = BufferId();
  EXPECT_EQ(net.check(plan), std::vector<std::string>{"step 0 (y) has no scratch"});
  plan = good;
  plan.buffers[plan.steps[0].scratch].size = Bytes(64);
  EXPECT_EQ(net.check(plan), std::vector<std::string>{"step 0 (y) has too little scratch"});
  plan = good;
  plan.buffers[plan.steps[0].scratch].offset = plan.buffers[plan.steps[0].in[0].buffer].offset;
  EXPECT_FALSE(net.check(plan).empty());
}

}  // namespace
}  // namespace lowtide::plan
