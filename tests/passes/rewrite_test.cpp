// Rewriting graphs, and the rewriting that makes an inference graph train.
#include "passes/rewrite.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/dropout/dropout.h"
#include "ops/unary/unary.h"
#include "passes/training.h"
#include "support/tensors.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::ValueId;
using support::elements;
using support::tensor;
using support::wave;

const core::TensorType kBatch{DType::kFloat32, Shape{4, 3}};

TEST(Rewrite, KeepingEveryNodeGivesTheSameGraph) {
  Graph old;
  GraphBuilder b(old);
  const ValueId x = b.input("x", kBatch);
  const ValueId rate = b.input("lowtide/rate", {DType::kFloat32, Shape{}}, Role::kScalar);
  const ValueId w = b.constant(Shape{3}, std::vector<float>{1, 2, 3}, "w");
  b.set_scope("first");
  const ValueId y = ops::add(b, x, w);
  b.set_scope("second");
  b.set_phase(graph::Phase::kBackward);
  old.outputs() = {ops::mul(b, y, rate)};
  const Rewritten copy =
      rewrite(old,
              [](GraphBuilder&, const Node&, const std::vector<ValueId>&)
                  -> std::optional<std::vector<ValueId>> { return std::nullopt; });
  EXPECT_EQ(verify(copy.graph), std::vector<std::string>());
  ASSERT_EQ(copy.graph.node_count(), old.node_count());
  for (std::size_t i = 0; i < old.node_count(); ++i) {
    EXPECT_EQ(copy.graph.node(NodeId(i)).op, old.node(NodeId(i)).op);
    EXPECT_EQ(copy.graph.node(NodeId(i)).phase, old.node(NodeId(i)).phase);
  }
  EXPECT_EQ(copy.graph.inputs().size(), 2U);
  EXPECT_EQ(copy.graph.value(copy.to[x]).name, "x");
  EXPECT_EQ(copy.graph.value(copy.to[rate]).role, Role::kScalar);
  EXPECT_EQ(copy.graph.outputs(), std::vector<ValueId>{copy.to[old.outputs()[0]]});
}

TEST(Rewrite, ReplacedNodesHandOnTheirReplacement) {
  Graph old;
  GraphBuilder b(old);
  const ValueId x = b.input("x", kBatch);
  const ValueId y = ops::relu(b, x);
  const ValueId z = ops::add(b, y, y);
  old.outputs() = {z};
  const Rewritten rewritten =
      rewrite(old,
              [&](GraphBuilder& builder, const Node& node,
                  const std::vector<ValueId>& in) -> std::optional<std::vector<ValueId>> {
                if (node.outputs[0] != y) return std::nullopt;
                return std::vector<ValueId>{ops::neg(builder, ops::neg(builder, in[0]))};
              });
  ASSERT_EQ(rewritten.graph.node_count(), 3U);
  const graph::Graph& graph = rewritten.graph;
  EXPECT_EQ(graph.node(NodeId(2)).inputs[0], graph.node(NodeId(1)).outputs[0]);
  const auto values = graph::interpret(
      graph, {{rewritten.to[x], tensor(kBatch.shape, std::vector<float>(12, -2.0F))}}, {});
  EXPECT_EQ(elements<float>(values.at(graph.outputs()[0])), std::vector<float>(12, -4.0F));
}

struct Normed {
  Graph graph;
  ValueId x;
  ValueId mean;
  ValueId var;
};

// relu(batch_norm(dropout(x))) with the statistics as a trainer marks them.
Normed normed_graph() {
  Normed net;
  GraphBuilder b(net.graph);
  net.x = b.input("x", kBatch);
  const auto vector = [&](const char* name, float element) {
    return b.constant(Shape{3}, std::vector<float>(3, element), name);
  };
  const ValueId scale = vector("scale", 1);
  const ValueId bias = vector("bias", 0);
  net.mean = vector("mean", 0);
  net.var = vector("var", 1);
  for (const ValueId id : {net.mean, net.var}) net.graph.value(id).role = Role::kStatistic;
  b.set_scope("drop");
  const ValueId dropped = ops::dropout(b, net.x, {.ratio = 0.5, .stream = 7});
  b.set_scope("norm");
  const ValueId y = ops::batch_norm(b, dropped, scale, bias, net.mean, net.var, {});
  net.graph.outputs() = {ops::relu(b, y)};
  return net;
}

TEST(ToTraining, NormalisesByTheBatchAndMovesTheStatistics) {
  for (const RunningRule rule : {RunningRule::kPyTorch, RunningRule::kOnnx}) {
    Normed net = normed_graph();
    const Training training = to_training(net.graph, {.running = rule, .samples = 4});
    const Graph& graph = training.rewritten.graph;
    EXPECT_EQ(verify(graph), std::vector<std::string>());
    EXPECT_EQ(training.batch_norms, 1);
    EXPECT_TRUE(training.couples_samples);
    int moved = 0;
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const graph::Value& value = graph.value(ValueId(i));
      if (!value.previous_version.valid()) continue;
      ++moved;
      EXPECT_TRUE(value.previous_version == training.rewritten.to[net.mean] ||
                  value.previous_version == training.rewritten.to[net.var]);
    }
    EXPECT_EQ(moved, 2);
  }
}

TEST(ToTraining, DropoutDropsInTrainingOnly) {
  const Normed net = normed_graph();
  const auto dropped = [&](const Graph& graph, ValueId x) {
    const auto values = graph::interpret(
        graph, {{x, tensor(kBatch.shape, std::vector<float>(12, 1.0F))}}, {}, {.seed = 3});
    const std::vector<float> y = elements<float>(values.at(graph.node(NodeId(0)).outputs[0]));
    return std::count(y.begin(), y.end(), 0.0F);
  };
  EXPECT_EQ(dropped(net.graph, net.x), 0);
  const Training training = to_training(net.graph, {.samples = 4});
  const auto zeros = dropped(training.rewritten.graph, training.rewritten.to[net.x]);
  EXPECT_GT(zeros, 0);
  EXPECT_LT(zeros, 12);
}

TEST(ToTraining, LeavesOtherGraphsAsTheyAre) {
  Graph old;
  GraphBuilder b(old);
  old.outputs() = {ops::relu(b, b.input("x", kBatch))};
  const Training training = to_training(old, {.samples = 4});
  EXPECT_FALSE(training.couples_samples);
  EXPECT_EQ(training.batch_norms, 0);
  EXPECT_EQ(dump(training.rewritten.graph), dump(old));
}

}  // namespace
}  // namespace lowtide::passes
