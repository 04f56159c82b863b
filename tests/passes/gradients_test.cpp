// Gradients that one node can make for two, where nothing else reads what lies between.
#include "passes/fuse/gradients.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/conv_max_pool/conv_max_pool.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/split/split.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"
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

// The gradient of a convolution's input of 32 channels in a plane of this size, split in two.
struct Net {
  explicit Net(std::int64_t size, bool wanted = false) {
    GraphBuilder b(graph, graph::Phase::kBackward);
    const ValueId dy = b.input("dy", {DType::kFloat32, {2, 16, size, size}, Layout::kChannelsLast});
    const ValueId w = b.input("w", {DType::kFloat32, {16, 32, 3, 3}});
    const ValueId whole =
        ops::conv_transpose(b, dy, w, ValueId(), {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    parts = ops::split(b, whole, 1, {20, 12});
    graph.outputs() = parts;
    if (wanted) graph.outputs().push_back(whole);
    fuse_gradients(graph);
    EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  }

  Graph graph;
  std::vector<ValueId> parts;
};

TEST(FuseGradients, OneNodeMakesTheParts) {
  const Net net(16);
  ASSERT_EQ(net.graph.node_count(), 1U);
  const graph::Node& node = net.graph.node(graph::NodeId(0));
  EXPECT_EQ(node.op, &ops::split_conv_transpose_op());
  EXPECT_EQ(node.outputs, net.parts);
}

TEST(FuseGradients, StayWholeWhereThatIsReadOrNoKernelMakesParts) {
  EXPECT_EQ(count(Net(16, true).graph, ops::split_op()), 1);
  EXPECT_EQ(count(Net(2).graph, ops::split_op()), 1);
}

// The gradient of a convolution with its pool, and of the rectified linear unit before it.
Graph rectified(bool wanted) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, {2, 3, 8, 8}, Layout::kChannelsLast});
  const ValueId w = b.input("w", {DType::kFloat32, {4, 3, 3, 3}});
  const ValueId positive = ops::relu(b, x);
  const ValueId y = ops::conv_max_pool(b, positive, w, ValueId(),
                                       {.conv = {}, .pool = {.kernel = {2, 2}, .strides = {2, 2}}});
  const graph::Node forward = graph.node(graph.value(y).producer);
  b.set_phase(graph::Phase::kBackward);
  const ValueId dy = b.input("dy", b.type(y));
  const ops::ConvMaxPoolGradient attributes{.forward = forward.attrs.as<ops::ConvMaxPool>(),
                                            .spatial = {8, 8}};
  const ValueId dx = b.add_one(ops::conv_max_pool_input_gradient_op(), graph::Attrs::of(attributes),
                               {forward.outputs[1], dy, w});
  graph.outputs() = {b.add_one(ops::unary_gradient_op(ops::UnaryKind::kRelu),
                               graph::Attrs::of(ops::Unary{}), {positive, dx})};
  if (wanted) graph.outputs().push_back(dx);
  fuse_gradients(graph);
  EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  return graph;
}

TEST(FuseGradients, PassRectifiedLinearUnitsBeforePooledConvolutions) {
  const graph::OpDef& relu_gradient = ops::unary_gradient_op(ops::UnaryKind::kRelu);
  EXPECT_EQ(count(rectified(false), relu_gradient), 0);
  EXPECT_EQ(count(rectified(true), relu_gradient), 1);
}

}  // namespace
}  // namespace lowtide::passes
