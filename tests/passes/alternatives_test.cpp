// Which gradients of convolution weights get an alternative, and where it takes their place.
#include "passes/alternatives.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
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

}  // namespace
}  // namespace lowtide::passes
