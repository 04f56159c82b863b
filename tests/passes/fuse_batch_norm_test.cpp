// What is fused with a batch norm, what is not, and that neither changes what is computed.
#include <algorithm>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/binary/binary.h"
#include "ops/layout/layout.h"
#include "ops/unary/unary.h"
#include "ops/update/update.h"
#include "passes/fuse/batch_norm.h"
#include "support/nodes.h"
#include "support/tensors.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::Role;
using graph::ValueId;
using support::count;
using support::elements;
using support::tensor;
using support::wave;

// A training-mode batch norm of images, and a tensor of the same type to add.
struct Net {
  explicit Net(std::int64_t channels) : shape{3, channels, 4, 5} {
    GraphBuilder b(graph);
    x = b.input("x", {DType::kFloat32, shape});
    other = b.input("other", {DType::kFloat32, shape});
    const auto state = [&](const char* name, Role role, float element) {
      const std::vector<float> all(static_cast<std::size_t>(channels), element);
      const ValueId id = b.constant(Shape{channels}, all, name);
      graph.value(id).role = role;
      return id;
    };
    normed = ops::batch_norm_train(
        b, x, state("scale", Role::kParameter, 1.5F), state("bias", Role::kParameter, 0.25F),
        state("mean", Role::kStatistic, 0), state("var", Role::kStatistic, 1), {},
        ops::RunningRule::kPyTorch);
    residual = ops::to_channels_last(b, other);
  }

  [[nodiscard]] std::vector<float> output(const Graph& of, ValueId in, ValueId in_other) const {
    const std::int64_t n = shape.elements();
    const auto values = graph::interpret(
        of, {{in, tensor(shape, wave<float>(n))}, {in_other, tensor(shape, wave<float>(n, 0.7))}},
        {.threads = 2});
    return elements<float>(values.at(of.outputs()[0]));
  }

  Shape shape;
  Graph graph;
  ValueId x;
  ValueId other;
  ValueId normed;
  ValueId residual;
};

// Fuses and checks that the output is the same up to rounding; returns the new graph.
Graph fused(Net& net, ValueId output) {
  net.graph.outputs() = {output};
  Rewritten rewritten = fuse_batch_norm(net.graph);
  EXPECT_EQ(verify(rewritten.graph), std::vector<std::string>());
  const std::vector<float> before = net.output(net.graph, net.x, net.other);
  const std::vector<float> after =
      net.output(rewritten.graph, rewritten.to[net.x], rewritten.to[net.other]);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    EXPECT_NEAR(before[i], after[i], 1e-5) << i;
  }
  return std::move(rewritten.graph);
}

TEST(FuseBatchNorm, TakesAnActivation) {
  for (const auto& activate : {+[](GraphBuilder&b, ValueId x) { return ops::relu(b, x); },
                               +[](GraphBuilder&b, ValueId x) { return ops::silu(b, x); },
                               +[](GraphBuilder&b, ValueId x) { return ops::hard_swish(b, x); },
                               +[](GraphBuilder&b, ValueId x) { return ops::clip(b, x, 0, 6); }}) {
    Net net(5);
    GraphBuilder b(net.graph);
    const Graph graph = fused(net, activate(b, net.normed));
    EXPECT_EQ(count(graph, ops::batch_norm_activate_op()), 1);
    EXPECT_EQ(count(graph, ops::batch_norm_apply_op()), 0);
    EXPECT_EQ(count(graph, ops::moving_average_op()), 2);
  }
}

TEST(FuseBatchNorm, TakesASumOnEitherSideAndItsRelu) {
  for (const bool first : {true, false}) {
    Net net(8);
    GraphBuilder b(net.graph);
    const ValueId sum =
        first ? ops::add(b, net.normed, net.residual) : ops::add(b, net.residual, net.normed);
    const Graph graph = fused(net, ops::relu(b, sum));
    EXPECT_EQ(count(graph, ops::batch_norm_add_relu_op()), 1);
    EXPECT_EQ(count(graph, ops::binary_op(ops::BinaryKind::kAdd)), 0);
  }
}

TEST(FuseBatchNorm, LeavesASumThatFillsNoWholeBytes) {
  Net net(6);
  GraphBuilder b(net.graph);
  const Graph graph = fused(net, ops::relu(b, ops::add(b, net.normed, net.residual)));
  EXPECT_EQ(count(graph, ops::batch_norm_apply_op()), 1);
  EXPECT_EQ(count(graph, ops::unary_op(ops::UnaryKind::kRelu)), 1);
}

TEST(FuseBatchNorm, LeavesWhatOthersReadToo) {
  Net net(8);
  GraphBuilder b(net.graph);
  const ValueId both = ops::add(b, ops::relu(b, net.normed), net.normed);
  EXPECT_EQ(count(fused(net, both), ops::batch_norm_apply_op()), 1);

  Net summed(8);
  GraphBuilder c(summed.graph);
  const ValueId sum = ops::add(c, summed.normed, summed.residual);
  EXPECT_EQ(count(fused(summed, ops::mul(c, ops::relu(c, sum), sum)), ops::batch_norm_apply_op()),
            1);
}

TEST(FuseBatchNorm, LeavesOutputsOfTheGraph) {
  Net net(8);
  GraphBuilder b(net.graph);
  const ValueId y = ops::relu(b, net.normed);
  net.graph.outputs() = {net.normed, y};
  EXPECT_EQ(count(fuse_batch_norm(net.graph).graph, ops::batch_norm_apply_op()), 1);
}

TEST(FuseBatchNorm, LeavesAResidualOfAnotherShape) {
  Net net(8);
  GraphBuilder b(net.graph);
  const ValueId row = b.constant(Shape{1, 8, 1, 1}, std::vector<float>(8, 0.5F), "row");
  const Graph graph = fused(net, ops::relu(b, ops::add(b, net.normed, row)));
  EXPECT_EQ(count(graph, ops::batch_norm_apply_op()), 1);
}

}  // namespace
}  // namespace lowtide::passes
