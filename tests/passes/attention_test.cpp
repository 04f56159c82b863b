// Attention as exporters write it becomes one node that gives the same numbers; what is only
// similar stays as it is.
#include "passes/fuse/attention/attention.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluate.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/dropout/dropout.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/predicate/predicate.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/split/split.h"
#include "ops/transpose/transpose.h"
#include "ops/trilu/trilu.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"
#include "passes/linear_head.h"
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

constexpr std::int64_t kSamples = 2;
constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kLength = 5;
constexpr std::int64_t kDepth = 4;
constexpr std::int64_t kWidth = kHeads * kDepth;
constexpr float kLow = -3.4028234e38F;

struct Net {
  Graph graph;
  ValueId x;
};

using Build = std::function<ValueId(GraphBuilder&, ValueId)>;

// A network whose input has queries, keys and values side by side.
Net net_of(const Build& build, const Shape& shape = {kSamples, kLength, 3 * kWidth}) {
  Net net;
  GraphBuilder b(net.graph);
  net.x = b.input("x", {DType::kFloat32, shape});
  net.graph.outputs() = {build(b, net.x)};
  return net;
}

std::vector<float> run(const Net& net) {
  const Shape& shape = net.graph.type(net.x).shape;
  const auto values = graph::interpret(
      net.graph, {{net.x, tensor(shape, wave<float>(shape.elements()))}}, {}, {.seed = 3});
  return elements<float>(values.at(net.graph.outputs()[0]));
}

// Fuses and expects one attention and `others` more nodes that move bytes or compute.
void expect_fused(const Build& build,
                  std::size_t nodes,
                  const Shape& shape = {kSamples, kLength, 3 * kWidth}) {
  Net net = net_of(build, shape);
  const std::vector<float> expected = run(net);
  fuse_attention(net.graph);
  EXPECT_EQ(graph::verify(net.graph), std::vector<std::string>());
  EXPECT_EQ(count(net.graph, ops::attention_op()), 1);
  EXPECT_EQ(count(net.graph, ops::softmax_op()), 0);
  EXPECT_EQ(net.graph.node_count(), nodes) << graph::dump(net.graph);
  const std::vector<float> actual = run(net);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 2e-6) << i;
}

void expect_untouched(const Build& build) {
  Net net = net_of(build);
  const std::string before = graph::dump(net.graph);
  fuse_attention(net.graph);
  EXPECT_EQ(graph::dump(net.graph), before);
}

// Part i of three as heads (N, H, T, D), or as keys (N, H, D, T).
ValueId heads(GraphBuilder& b, ValueId x, std::size_t i, std::vector<std::size_t> perm) {
  const ValueId part = ops::split(b, x, 2, {kWidth, kWidth, kWidth})[i];
  return ops::transpose(b, ops::reshape(b, part, Shape{kSamples, kLength, kHeads, kDepth}),
                        std::move(perm));
}

struct Parts {
  ValueId q;
  ValueId k;
  ValueId v;
};

Parts split_heads(GraphBuilder& b, ValueId x) {
  return {heads(b, x, 0, {0, 2, 1, 3}), heads(b, x, 1, {0, 2, 3, 1}), heads(b, x, 2, {0, 2, 1, 3})};
}

ValueId number(GraphBuilder& b, float value) {
  return b.constant(Shape(), std::vector<float>{value});
}

ValueId joined(GraphBuilder& b, ValueId y) {
  return ops::reshape(b, ops::transpose(b, y, {0, 2, 1, 3}), Shape{kSamples, kLength, kWidth});
}

ValueId causal(GraphBuilder& b, float hidden, std::int64_t offset = 0) {
  std::vector<float> mask;
  for (std::int64_t i = 0; i < kLength; ++i) {
    for (std::int64_t j = 0; j < kLength; ++j) mask.push_back(j <= i + offset ? 0 : hidden);
  }
  return b.constant(Shape{1, 1, kLength, kLength}, mask);
}

// A mask computed from the input: bools (N, 1, T, T).
ValueId choice(GraphBuilder& b, ValueId x) {
  const ValueId some = ops::slice(b, x, {.starts = {0}, .ends = {kLength}, .axes = {2}});
  const ValueId shaped = ops::reshape(b, some, Shape{kSamples, 1, kLength, kLength});
  return ops::binary(b, ops::BinaryKind::kLess, shaped, number(b, 0.4F));
}

TEST(FuseAttention, ReadsHeadsWhereTheyWereSplitFrom) {
  for (const float hidden : {kLow, -INFINITY}) {
    const auto build = [&](GraphBuilder& b, ValueId x) {
      const Parts p = split_heads(b, x);
      const ValueId scores = ops::mul(b, ops::matmul(b, p.q, p.k), number(b, 0.5F));
      const ValueId weights = ops::softmax(b, ops::add(b, scores, causal(b, hidden)), -1);
      return joined(b, ops::matmul(b, weights, p.v));
    };
    expect_fused(build, 2);  // attention, reshape
    Net net = net_of(build);
    fuse_attention(net.graph);
    const graph::Node& node = net.graph.node(NodeId(0));
    EXPECT_EQ(node.inputs, std::vector<ValueId>{net.x});
    EXPECT_TRUE(node.attrs.as<ops::Attention>().causal);
  }
}

TEST(FuseAttention, SeesThatAComputedMaskIsCausal) {
  expect_fused(
      [](GraphBuilder& b, ValueId x) {
        const Parts p = split_heads(b, x);
        const ValueId ones = b.constant(Shape{kLength, kLength},
                                        std::vector<float>(kLength * kLength, 1.0F), "ones");
        const ValueId lower = ops::trilu(b, ones, {.keep = ops::Triangle::kLower});
        const ValueId above = ops::binary(b, ops::BinaryKind::kEqual, lower, number(b, 0));
        const ValueId mask = ops::where(b, above, number(b, -INFINITY), number(b, 0));
        const ValueId scores = ops::add(b, ops::matmul(b, p.q, p.k), mask);
        return joined(b, ops::matmul(b, ops::softmax(b, scores, -1), p.v));
      },
      2);
}

TEST(FuseAttention, ReadsHeadsThroughGathersAndAxesOfOtherOrder) {
  const auto build = [](GraphBuilder& b, ValueId x) {
    const ValueId apart = ops::reshape(b, x, Shape{1, kLength, kSamples, 3, kWidth});
    const ValueId stacked = ops::reshape(b, ops::transpose(b, apart, {3, 1, 2, 0, 4}),
                                         Shape{3, kLength, kSamples, kWidth});
    const auto part = [&](std::int64_t i) {
      const ValueId index = b.constant(Shape(), std::vector<std::int64_t>{i});
      const ValueId one = ops::reshape(b, ops::gather(b, stacked, index, 0),
                                       Shape{kLength, kSamples * kHeads, kDepth});
      return ops::transpose(b, one, {1, 0, 2});
    };
    const Shape four{kSamples, kHeads, kLength, kDepth};
    const ValueId q = ops::mul(b, ops::reshape(b, part(0), four), number(b, 0.7F));
    const ValueId keys = ops::transpose(b, part(1), {0, 2, 1});
    const ValueId k = ops::mul(b, ops::reshape(b, keys, Shape{kSamples, kHeads, kDepth, kLength}),
                               number(b, 0.7F));
    const ValueId weights = ops::softmax(b, ops::matmul(b, q, k), -1);
    const ValueId y = ops::matmul(b, weights, ops::reshape(b, part(2), four));
    return ops::transpose(b, y, {2, 0, 1, 3});
  };
  expect_fused(build, 1, {kLength, kSamples, 3 * kWidth});
}

TEST(FuseAttention, TakesBoolsThatChooseScores) {
  const auto keep = [](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    const ValueId scores = ops::div(b, ops::matmul(b, p.q, p.k), number(b, 2));
    const ValueId masked = ops::where(b, choice(b, x), scores, number(b, -INFINITY));
    const ValueId weights = ops::softmax(b, masked, -1);
    const ValueId guarded = ops::where(b, ops::is_nan(b, weights), number(b, 0), weights);
    return joined(b, ops::matmul(b, guarded, p.v));
  };
  expect_fused(keep, 5);  // slice, reshape, less, attention, reshape
  const auto hide = [](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    const ValueId masked = ops::where(b, choice(b, x), number(b, -1e9F), ops::matmul(b, p.q, p.k));
    return joined(b, ops::matmul(b, ops::softmax(b, masked, -1), p.v));
  };
  expect_fused(hide, 5);
}

TEST(FuseAttention, TakesAMaskBesideACausalOne) {
  expect_fused(
      [](GraphBuilder& b, ValueId x) {
        const Parts p = split_heads(b, x);
        const ValueId own = ops::reshape(
            b, ops::slice(b, x, {.starts = {3}, .ends = {3 + kLength * kLength}, .axes = {2}}),
            Shape{kSamples, kLength, 1, kLength, kLength});
        const ValueId mask = ops::slice(b, own, {.starts = {0}, .ends = {1}, .axes = {1}});
        const ValueId shaped = ops::reshape(b, mask, Shape{kSamples, 1, kLength, kLength});
        const ValueId scores = ops::add(b, shaped, ops::matmul(b, p.q, p.k));
        const ValueId masked = ops::add(b, causal(b, -INFINITY, 1), scores);
        return joined(b, ops::matmul(b, ops::softmax(b, masked, -1), p.v));
      },
      6);
}

TEST(FuseAttention, DropsTheSameWeights) {
  expect_fused(
      [](GraphBuilder& b, ValueId x) {
        const Parts p = split_heads(b, x);
        const ValueId weights = ops::softmax(b, ops::matmul(b, p.q, p.k), -1);
        const ValueId dropped =
            ops::dropout(b, weights, {.ratio = 0.3, .stream = 7, .active = true});
        return joined(b, ops::matmul(b, dropped, p.v));
      },
      2);
}

TEST(FuseAttention, TakesHeadsOfThreeAxes) {
  expect_fused(
      [](GraphBuilder& b, ValueId x) {
        const auto parts = ops::split(b, x, 2, {kWidth, kWidth, kWidth});
        const ValueId scores = ops::matmul(b, parts[0], ops::transpose(b, parts[1], {0, 2, 1}));
        return ops::matmul(b, ops::softmax(b, ops::scale(b, scores, 0.3), -1), parts[2]);
      },
      1);
}

TEST(FuseAttention, LeavesWeightsThatSomethingElseReads) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    const ValueId weights = ops::softmax(b, ops::matmul(b, p.q, p.k), -1);
    return ops::add(b, ops::matmul(b, weights, p.v), ops::matmul(b, weights, p.q));
  });
}

TEST(FuseAttention, LeavesALearnedMask) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    const ValueId mask = b.constant(Shape{kLength, kLength}, wave<float>(kLength * kLength), "w");
    b.graph().value(mask).role = Role::kParameter;
    const ValueId scores = ops::add(b, ops::matmul(b, p.q, p.k), mask);
    return joined(b, ops::matmul(b, ops::softmax(b, scores, -1), p.v));
  });
}

TEST(FuseAttention, LeavesAScaleBehindTheMask) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    const ValueId scores = ops::add(b, ops::matmul(b, p.q, p.k), causal(b, -1.0F));
    const ValueId weights = ops::softmax(b, ops::mul(b, scores, number(b, 0.5F)), -1);
    return joined(b, ops::matmul(b, weights, p.v));
  });
}

TEST(FuseAttention, LeavesASoftmaxAlongAnotherAxis) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const Parts p = split_heads(b, x);
    return joined(b, ops::matmul(b, ops::softmax(b, ops::matmul(b, p.q, p.k), 2), p.v));
  });
}

TEST(FindLinearHead, FindsTiedWeightsAndBiases) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, Shape{2, 3, 4}});
  const ValueId table = b.input("table", {DType::kFloat32, Shape{7, 4}});
  const ValueId bias = b.input("bias", {DType::kFloat32, Shape{7}});
  const auto tied = find_linear_head(graph, ops::matmul(b, x, ops::transpose(b, table, {1, 0})));
  ASSERT_TRUE(tied);
  EXPECT_EQ(tied->hidden, x);
  EXPECT_EQ(tied->weight, table);
  EXPECT_TRUE(tied->transposed);
  EXPECT_FALSE(tied->bias.valid());
  const ValueId rows = ops::reshape(b, x, Shape{6, 4});
  const ValueId logits = ops::gemm(b, rows, table, bias, {.transpose_b = true});
  const auto biased = find_linear_head(graph, ops::reshape(b, logits, Shape{2, 3, 7}));
  ASSERT_TRUE(biased);
  EXPECT_EQ(biased->hidden, rows);
  EXPECT_EQ(biased->bias, bias);
  EXPECT_TRUE(biased->transposed);
  EXPECT_FALSE(find_linear_head(graph, ops::relu(b, logits)));
}

}  // namespace
}  // namespace lowtide::passes
