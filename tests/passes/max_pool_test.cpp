// Which pools take over convolutions and rectified linear units before them, and that this does not
// change what is computed.
#include "passes/fuse/max_pool.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"
#include "ops/binary/binary.h"
#include "ops/conv_max_pool/conv_max_pool.h"
#include "ops/unary/unary.h"
#include "support/nodes.h"
#include "support/tensors.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::count;
using support::elements;

const ops::Pool kHalves{.kernel = {2, 2}, .strides = {2, 2}};
const graph::OpDef& relu_op() { return ops::unary_op(ops::UnaryKind::kRelu); }

struct Net {
  // Behind the convolution of two images with this many pixels a side, to 8 channels.
  explicit Net(std::int64_t size, bool bias = true) : shape{2, 3, size, size} {
    GraphBuilder b(graph);
    x = b.input("x", {DType::kFloat32, shape});
    const ValueId w = b.constant(Shape{8, 3, 3, 3}, support::wave<float>(8 * 27), "w");
    const ValueId offset =
        bias ? b.constant(Shape{8}, support::wave<float>(8, 0.5), "b") : ValueId();
    y = ops::conv(b, x, w, offset, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
  }

  [[nodiscard]] std::vector<float> output(const Graph& of, ValueId in) const {
    const auto values = graph::interpret(
        of, {{in, support::tensor(shape, support::wave<float>(shape.elements()))}}, {});
    return elements<float>(values.at(of.outputs()[0]));
  }

  Shape shape;
  Graph graph;
  ValueId x;
  ValueId y;
};

constexpr std::int64_t kLargeSize = 364;  // 4 MiB a sample, and more
constexpr std::int64_t kSmallSize = 12;

// Builds on the convolution, fuses and checks that the output is the same up to rounding.
Graph fused(Net net, const std::function<ValueId(GraphBuilder&, ValueId)>& build) {
  GraphBuilder b(net.graph);
  net.graph.outputs() = {build(b, net.y)};
  Rewritten rewritten = fuse_max_pools(net.graph);
  EXPECT_EQ(verify(rewritten.graph), std::vector<std::string>());
  const std::vector<float> before = net.output(net.graph, net.x);
  const std::vector<float> after = net.output(rewritten.graph, rewritten.to[net.x]);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == after[i]) continue;  // infinities too
    EXPECT_NEAR(before[i], after[i], 1e-5) << i;
    if (testing::Test::HasFailure()) break;
  }
  return std::move(rewritten.graph);
}

ValueId relu_then_pool(GraphBuilder& b, ValueId y) {
  return ops::max_pool(b, ops::relu(b, y), kHalves);
}

TEST(FuseMaxPools, TakesLargeConvolutionsAndTheirReluBehindThePool) {
  for (const bool bias : {true, false}) {
    const Graph graph = fused(Net(kLargeSize, bias), relu_then_pool);
    ASSERT_EQ(count(graph, ops::conv_max_pool_op()), 1);
    ASSERT_EQ(count(graph, relu_op()), 1);
    EXPECT_EQ(count(graph, ops::conv_op()) + count(graph, ops::max_pool_op()), 0);
    EXPECT_EQ(graph.node(graph.value(graph.outputs()[0]).producer).op, &relu_op());
  }
  const auto pool = [](GraphBuilder& b, ValueId y) { return ops::max_pool(b, y, kHalves); };
  EXPECT_EQ(count(fused(Net(kLargeSize), pool), ops::conv_max_pool_op()), 1);
}

TEST(FuseMaxPools, PutsOnlyTheReluBehindThePoolOfASmallOne) {
  const Graph graph = fused(Net(kSmallSize), relu_then_pool);
  EXPECT_EQ(count(graph, ops::conv_op()), 1);
  EXPECT_EQ(count(graph, ops::max_pool_op()), 1);
  EXPECT_EQ(graph.node(graph.value(graph.outputs()[0]).producer).op, &relu_op());
}

// A batch norm of 8 channels with an activation.
ValueId normed(GraphBuilder& b, ValueId x) {
  const auto numbers = [&](const char* name) {
    return b.constant(Shape{8}, support::wave<float>(8, 0.1), name);
  };
  return ops::batch_norm_activate(b,
                                  {.x = x,
                                   .mean = numbers("mean"),
                                   .inverse_deviation = numbers("inverse"),
                                   .scale = numbers("scale"),
                                   .bias = numbers("bias")},
                                  {.kind = ops::UnaryKind::kSilu});
}

TEST(FuseMaxPools, TakesLargeBatchNormsWithTheirActivation) {
  const auto norm_then_pool = [](GraphBuilder& b, ValueId y) {
    return ops::max_pool(b, normed(b, y), kHalves);
  };
  const Graph large = fused(Net(kLargeSize), norm_then_pool);
  EXPECT_EQ(count(large, ops::batch_norm_max_pool_op()), 1);
  EXPECT_EQ(large.node_count(), 3U);  // with the convolution and the layout of its input
  const Graph small = fused(Net(kSmallSize), norm_then_pool);
  EXPECT_EQ(count(small, ops::batch_norm_activate_op()), 1);
}

TEST(FuseMaxPools, LeavesWhatOthersReadToo) {
  const Graph convolved = fused(Net(kLargeSize), [](GraphBuilder& b, ValueId y) {
    return ops::add(b, relu_then_pool(b, y), ops::max_pool(b, y, kHalves));
  });
  EXPECT_EQ(count(convolved, ops::conv_op()), 1);
  const Graph rectified = fused(Net(kSmallSize), [](GraphBuilder& b, ValueId y) {
    const ValueId r = ops::relu(b, y);
    return ops::add(b, ops::max_pool(b, r, kHalves), ops::average_pool(b, r, kHalves));
  });
  EXPECT_NE(rectified.node(rectified.value(rectified.outputs()[0]).producer).op, &relu_op());
}

TEST(FuseMaxPools, LeavesPoolsThatMakeNothingSmallerOrMeetPaddingOnly) {
  const auto behind = [](const ops::Pool& pool) {
    return [pool](GraphBuilder& b, ValueId y) { return ops::max_pool(b, ops::relu(b, y), pool); };
  };
  const ops::Pool same{.kernel = {3, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}};
  EXPECT_EQ(count(fused(Net(kLargeSize), behind(same)), ops::conv_op()), 1);
  // Of -inf, which a rectified linear unit behind the pool would make 0.
  const ops::Pool outside{.kernel = {1, 1}, .strides = {3, 3}, .pads_begin = {1, 1}};
  const Graph graph = fused(Net(kSmallSize), behind(outside));
  EXPECT_EQ(graph.node(graph.value(graph.outputs()[0]).producer).op, &ops::max_pool_op());
}

}  // namespace
}  // namespace lowtide::passes
