// Which gradients and updates get an alternative, and where it takes their place.
#include "passes/alternatives.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/gradient_norm/gradient_norm.h"
#include "ops/joined_conv_gradient/joined_conv_gradient.h"
#include "ops/matmul_update/matmul_update.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"
#include "ops/unary/unary.h"
#include "support/nodes.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Layout;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::count;

// The gradient of weights behind a norm of x, or of x and another joined.
struct Net {
  explicit Net(bool joined) {
    GraphBuilder b(graph);
    const auto image = [&](const char* what, std::int64_t channels) {
      return b.input(what, {DType::kFloat32, {2, channels, 8, 8}, Layout::kChannelsLast});
    };
    const auto channel = [&](const char* what) { return b.input(what, {DType::kFloat32, {32}}); };
    const ValueId x = joined ? ops::concat(b, {image("a", 24), image("b", 8)}, 1) : image("x", 32);
    const ValueId y = ops::batch_norm_activate(b,
                                               {.x = x,
                                                .mean = channel("mean"),
                                                .inverse_deviation = channel("inverse"),
                                                .scale = channel("scale"),
                                                .bias = channel("bias")},
                                               {.kind = ops::UnaryKind::kRelu});
    const ValueId w = b.input("w", {DType::kFloat32, {32, 32, 3, 3}});
    const ValueId z = ops::conv(b, y, w, ValueId(), {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const auto conv = graph.node(graph.value(z).producer).attrs.as<ops::Conv>();
    b.set_phase(graph::Phase::kBackward);
    dw = b.add_one(ops::conv_weight_gradient_op(), graph::Attrs::of(conv), {y, z});
    graph.outputs() = {dw};
    name = graph.node(graph.value(dw).producer).name;
    offer_alternatives(graph);
    EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  }

  Graph graph;
  ValueId dw;
  std::string name;
};

TEST(Alternatives, StandBesideTheGradient) {
  const Net net(false);
  EXPECT_EQ(count(net.graph, ops::conv_weight_gradient_op()), 1);
  EXPECT_EQ(count(net.graph, ops::normed_conv_gradient_op()), 1);
  const graph::NodeId last(net.graph.node_count() - 1);
  EXPECT_EQ(net.graph.node(last).alternative_to, net.graph.value(net.dw).producer);
}

TEST(Alternatives, TakeItsPlaceBehindAConcatenation) {
  const Net net(true);
  EXPECT_EQ(count(net.graph, ops::conv_weight_gradient_op()), 0);
  const graph::Node& node = net.graph.node(net.graph.value(net.dw).producer);
  EXPECT_EQ(node.op, &ops::normed_conv_gradient_op());
  EXPECT_EQ(node.name, net.name);
  EXPECT_FALSE(node.alternative_to.valid());
}

// The gradient of weights behind two tensors side by side.
TEST(Alternatives, ReadThePartsThatAnInputWasJoinedOf) {
  Graph graph;
  GraphBuilder b(graph);
  const auto image = [&](const char* what) {
    return b.input(what, {DType::kFloat32, {2, 16, 16, 16}, Layout::kChannelsLast});
  };
  const ValueId a = image("a");
  const ValueId c = image("c");
  const ValueId w = b.input("w", {DType::kFloat32, {32, 32, 3, 3}});
  const ValueId z = ops::conv(b, ops::concat(b, {a, c}, 1), w, ValueId(),
                              {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  const graph::Node conv = graph.node(graph.value(z).producer);
  b.set_phase(graph::Phase::kBackward);
  const ValueId dw = b.add_one(ops::conv_weight_gradient_op(), conv.attrs, {conv.inputs[0], z});
  graph.outputs() = {dw};
  offer_alternatives(graph);
  EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  const graph::Node& last = graph.node(graph::NodeId(graph.node_count() - 1));
  EXPECT_EQ(last.op, &ops::joined_conv_gradient_op());
  EXPECT_EQ(last.inputs, (std::vector<ValueId>{z, a, c}));
  EXPECT_EQ(last.alternative_to, graph.value(dw).producer);
}

// An update of weights of 4096 columns whose gradient is a product.
struct Learner {
  struct How {
    std::int64_t rows = 4096;
    bool clips = false;
    bool gradient_is_wanted = false;
  };

  explicit Learner(const How& how) {
    GraphBuilder b(graph);
    const ValueId x = b.input("x", {DType::kFloat32, {2, how.rows}});
    const ValueId dy = b.input("dy", {DType::kFloat32, {2, 4096}});
    const ValueId w = b.state("w", {DType::kFloat32, {how.rows, 4096}}, graph::Role::kParameter);
    const ValueId scalars =
        b.input("scalars", {DType::kFloat32, {ops::kUpdateScalars}}, graph::Role::kScalar);
    const ValueId clip = how.clips ? b.input("clip", {DType::kFloat32, {}}) : ValueId();
    b.set_phase(graph::Phase::kBackward);
    const ValueId gradient = ops::matmul(b, x, dy, {.transpose_a = true});
    b.set_phase(graph::Phase::kUpdate);
    const ValueId sum = ops::sum_squares(b, gradient);
    ops::sgd_update(b, w, gradient, scalars, ValueId(), clip, {});
    graph.outputs() = {sum};
    if (how.gradient_is_wanted) graph.outputs().push_back(gradient);
    offer_alternatives(graph);
    EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  }

  Graph graph;
};

TEST(Alternatives, OfLargeUpdatesHoldTheGradientByPanels) {
  const Learner learner({});
  ASSERT_EQ(learner.graph.node_count(), 2U);
  const graph::Node& whole = learner.graph.node(graph::NodeId(0));
  const graph::Node& panels = learner.graph.node(graph::NodeId(1));
  EXPECT_FALSE(whole.attrs.as<ops::MatMulUpdate>().by_panels);
  EXPECT_TRUE(panels.attrs.as<ops::MatMulUpdate>().by_panels);
  EXPECT_EQ(panels.alternative_to, graph::NodeId(0));
}

TEST(Alternatives, LeaveUpdatesAloneThatAreSmallOrClippedOrNotAllThatReadsTheGradient) {
  const Learner small({.rows = 1024});
  EXPECT_EQ(count(small.graph, ops::matmul_update_op()), 0);
  const Learner clipped({.clips = true});
  EXPECT_EQ(count(clipped.graph, ops::matmul_update_op()), 0);
  const Learner wanted({.gradient_is_wanted = true});
  EXPECT_EQ(count(wanted.graph, ops::matmul_update_op()), 0);
}

}  // namespace
}  // namespace lowtide::passes
