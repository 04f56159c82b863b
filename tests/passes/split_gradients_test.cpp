// Gradients of joined tensors are made apart where nothing else reads the whole.
#include "passes/fuse/split_gradients.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/split/split.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"
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
    fuse_split_gradients(graph);
    EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  }

  Graph graph;
  std::vector<ValueId> parts;
};

TEST(SplitGradients, OneNodeMakesTheParts) {
  const Net net(16);
  ASSERT_EQ(net.graph.node_count(), 1U);
  const graph::Node& node = net.graph.node(graph::NodeId(0));
  EXPECT_EQ(node.op, &ops::split_conv_transpose_op());
  EXPECT_EQ(node.outputs, net.parts);
}

TEST(SplitGradients, StayWholeWhereThatIsReadOrNoKernelMakesParts) {
  EXPECT_EQ(count(Net(16, true).graph, ops::split_op()), 1);
  EXPECT_EQ(count(Net(2).graph, ops::split_op()), 1);
}

}  // namespace
}  // namespace lowtide::passes
