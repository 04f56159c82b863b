// Dropout that a rule puts back.
#include "passes/dropout.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/builder.h"
#include "ops/dropout/dropout.h"
#include "ops/unary/unary.h"
#include "passes/training.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;

// x -> Relu -> a -> Dropout(0.5) -> b -> Tanh -> y, and a constant c -> Tanh -> t.
class DropoutRules : public testing::Test {
 protected:
  DropoutRules() {
    a = ops::relu(build, x);
    b = ops::dropout(build, a, {.ratio = 0.5, .stream = 1});
    y = ops::tanh(build, b);
    const ValueId c = build.constant(Shape{2}, std::vector<float>{1, 2}, "c");
    t = ops::tanh(build, c);
    graph.outputs() = {y, t};
    named = {{"x", x}, {"fc/a", a}, {"node_a", a}, {"fc/b", b}, {"y", y}, {"t", t}};
  }

  DropoutRatios choose(const std::vector<DropoutRule>& rules) {
    return choose_dropout(graph, named, rules);
  }

  std::string refusal(const DropoutRule& rule) {
    try {
      choose({rule});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "";
  }

  Graph graph;
  GraphBuilder build{graph};
  ValueId x = build.input("x", {DType::kFloat32, Shape{4, 2}});
  ValueId a, b, y, t;
  std::multimap<std::string, ValueId> named;
};

// The ratios of the active dropouts of a graph, in its order.
std::vector<double> ratios(const Graph& graph) {
  std::vector<double> result;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    if (node.op != &ops::dropout_op()) continue;
    EXPECT_TRUE(node.attrs.as<ops::Dropout>().active);
    result.push_back(node.attrs.as<ops::Dropout>().ratio);
  }
  return result;
}

TEST_F(DropoutRules, MatchValuesAndNodes) {
  EXPECT_EQ(choose({{"fc/*", 0.1}}), (DropoutRatios{{a, 0.1}, {b, 0.1}}));
  EXPECT_EQ(choose({{"node_a", 0.1}}), (DropoutRatios{{a, 0.1}}));
}

TEST_F(DropoutRules, TheLastRuleCounts) {
  EXPECT_EQ(choose({{"fc/*", 0.1}, {"fc/a", 0.2}}), (DropoutRatios{{a, 0.2}, {b, 0.1}}));
  EXPECT_EQ(choose({{"fc/a", 0.2}, {"fc/*", 0.1}}), (DropoutRatios{{a, 0.1}, {b, 0.1}}));
}

TEST_F(DropoutRules, LeaveInputsAndConstantsAlone) {
  for (const char* const name : {"x", "t", "nothing"}) {
    EXPECT_NE(refusal({name, 0.1}).find("matches no node or computed value"), std::string::npos);
  }
  EXPECT_FALSE(choose({{"*", 0.1}}).contains(t));
}

TEST_F(DropoutRules, TakeNoOddRatio) {
  for (const double ratio : {1.0, -0.1, 2.0}) {
    EXPECT_NE(refusal({"fc/a", ratio}).find("'fc/a' must lie in [0, 1)"), std::string::npos);
  }
}

TEST_F(DropoutRules, PutDropoutBehindAValue) {
  const Training training = to_training(graph, {.samples = 4, .dropout = choose({{"y", 0.25}})});
  EXPECT_EQ(ratios(training.rewritten.graph), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(training.dropouts, 2);
  // Whoever read the value, the graph's output here, reads what is left of it.
  const graph::Value& output =
      training.rewritten.graph.value(training.rewritten.graph.outputs()[0]);
  EXPECT_EQ(training.rewritten.graph.node(output.producer).op, &ops::dropout_op());
}

TEST_F(DropoutRules, ChangeTheRatioOfADropoutThatIsThere) {
  const Training training = to_training(graph, {.samples = 4, .dropout = choose({{"fc/b", 0.1}})});
  EXPECT_EQ(ratios(training.rewritten.graph), std::vector<double>{0.1});
  const Training none = to_training(graph, {.samples = 4, .dropout = choose({{"fc/b", 0}})});
  EXPECT_EQ(ratios(none.rewritten.graph), std::vector<double>());
  EXPECT_EQ(none.dropouts, 0);
}

TEST_F(DropoutRules, DrawADifferentMaskForEachValue) {
  const Training training =
      to_training(graph, {.samples = 4, .dropout = choose({{"fc/a", 0.5}, {"y", 0.5}})});
  std::vector<std::uint64_t> streams;
  const Graph& trained = training.rewritten.graph;
  for (std::size_t i = 0; i < trained.node_count(); ++i) {
    const graph::Node& node = trained.node(NodeId(i));
    if (node.op == &ops::dropout_op()) streams.push_back(node.attrs.as<ops::Dropout>().stream);
  }
  ASSERT_EQ(streams.size(), 3U);
  std::sort(streams.begin(), streams.end());
  EXPECT_EQ(std::unique(streams.begin(), streams.end()), streams.end());
}

}  // namespace
}  // namespace lowtide::passes
