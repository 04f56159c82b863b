// A convolution with its pool gives what the two give, whatever the number of threads.
#include "ops/conv_max_pool/conv_max_pool.h"

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/unary/unary.h"
#include "ops/window.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Layout;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::elements;
using support::random_tensor;

const Conv kSame{.pads_begin = {1, 1}, .pads_end = {1, 1}};
const Pool kHalves{.kernel = {2, 2}, .strides = {2, 2}};

// A graph of both ways, forward and back.
struct Net {
  Net(const core::Shape& image, std::int64_t channels, const Pool& window)
      : x_type{DType::kFloat32, image, Layout::kChannelsLast},
        w_type{DType::kFloat32, {channels, image[1], 3, 3}} {
    const Pool pool = with_window_defaults(window);
    GraphBuilder b(graph);
    x = b.input("x", x_type);
    w = b.input("w", w_type);
    bias = b.input("bias", {DType::kFloat32, {channels}});
    y = conv_max_pool(b, x, w, bias, {.conv = kSame, .pool = pool});
    const ValueId between = conv(b, x, w, bias, kSame);
    expected = max_pool(b, between, pool);
    const graph::Node node = graph.node(graph.value(y).producer);
    index = node.outputs[1];
    expected_index = b.add_one(max_pool_index_op(), graph::Attrs::of(pool), {between});
    dy_type = b.type(y);
    dy = b.input("dy", dy_type);
    dw = b.add_one(conv_max_pool_weight_gradient_op(), node.attrs, {x, index, dy});
    dx = b.add_one(conv_max_pool_input_gradient_op(),
                   graph::Attrs::of(ConvMaxPoolGradient{.forward = node.attrs.as<ConvMaxPool>(),
                                                        .spatial = {image[2], image[3]}}),
                   {index, dy, w});
    const graph::Node plain = graph.node(graph.value(between).producer);
    const core::Shape& wide = b.type(between).shape;
    const ValueId d =
        b.add_one(max_pool_gradient_op(),
                  graph::Attrs::of(PoolGradient{.pool = pool, .spatial = {wide[2], wide[3]}}),
                  {expected_index, dy});
    expected_dw = b.add_one(conv_weight_gradient_op(), plain.attrs, {x, d});
  }

  [[nodiscard]] auto run(const core::Machine& machine) const {
    const core::TensorType channel{DType::kFloat32, {w_type.shape[0]}};
    return graph::interpret(graph,
                            {{x, random_tensor(x_type, 1, -1, 1)},
                             {w, random_tensor(w_type, 2, -1, 1)},
                             {bias, random_tensor(channel, 3, -1, 1)},
                             {dy, random_tensor(dy_type, 4, -1, 1)}},
                            machine);
  }

  core::TensorType x_type;
  core::TensorType w_type;
  core::TensorType dy_type;
  Graph graph;
  ValueId x, w, bias, y, index, expected, expected_index, dy, dw, dx, expected_dw;
};

class ConvMaxPoolTest : public testing::TestWithParam<core::Isa> {};

TEST_P(ConvMaxPoolTest, GivesWhatTheTwoGive) {
  for (const Net& net : {Net({3, 16, 14, 12}, 32, kHalves), Net({1, 3, 8, 9}, 5, kHalves),
                         Net({2, 5, 9, 7}, 4, {.kernel = {3, 3}, .strides = {2, 2}})}) {
    const auto values = net.run({.threads = 2, .isa = GetParam()});
    const auto near = [&](ValueId actual, ValueId expected) {
      const std::vector<float> a = elements<float>(values.at(actual));
      const std::vector<float> b = elements<float>(values.at(expected));
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-4) << i;
    };
    near(net.y, net.expected);
    near(net.dw, net.expected_dw);
    EXPECT_EQ(*values.at(net.index).bytes, *values.at(net.expected_index).bytes);
  }
}

TEST_P(ConvMaxPoolTest, HasTheSameBitsWithAnyNumberOfThreads) {
  const Net net({3, 16, 14, 12}, 32, kHalves);
  const auto one = net.run({.threads = 1, .isa = GetParam()});
  const auto two = net.run({.threads = 2, .isa = GetParam()});
  for (const ValueId id : {net.y, net.index, net.dw, net.dx}) {
    EXPECT_EQ(*one.at(id).bytes, *two.at(id).bytes) << net.graph.value(id).name;
  }
}

TEST_P(ConvMaxPoolTest, PassesTheReluBeforeItWithTheSameBits) {
  const core::Shape image{3, 16, 14, 12};
  Graph graph;
  GraphBuilder b(graph);
  const core::TensorType x_type{DType::kFloat32, image, Layout::kChannelsLast};
  const core::TensorType w_type{DType::kFloat32, {32, 16, 3, 3}};
  const ValueId before = b.input("x", x_type);
  const ValueId w = b.input("w", w_type);
  const ValueId x = relu(b, before);
  const ValueId y = conv_max_pool(b, x, w, ValueId(), {.conv = kSame, .pool = kHalves});
  const graph::Node forward = graph.node(graph.value(y).producer);
  const core::TensorType dy_type = b.type(y);
  const ValueId dy = b.input("dy", dy_type);
  const ConvMaxPoolGradient attributes{.forward = forward.attrs.as<ConvMaxPool>(),
                                       .spatial = {image[2], image[3]}};
  const ValueId dx = b.add_one(conv_max_pool_input_gradient_op(), graph::Attrs::of(attributes),
                               {forward.outputs[1], dy, w});
  const auto gated = [&](ValueId of) {
    return b.add_one(unary_gradient_op(UnaryKind::kRelu), graph::Attrs::of(Unary{}), {of, dx});
  };
  const ValueId expected = gated(x);
  const auto node_of = [&](ValueId id) { return graph.node(graph.value(id).producer); };
  const auto both = rectified_input_gradient(graph, node_of(dx), node_of(expected));
  ASSERT_TRUE(both.has_value());
  const ValueId same = b.add_one(*both->op, both->attrs, both->inputs);
  EXPECT_FALSE(rectified_input_gradient(graph, node_of(same), node_of(expected)).has_value());
  EXPECT_FALSE(rectified_input_gradient(graph, node_of(dx), node_of(gated(before))).has_value());
  const auto values = graph::interpret(graph,
                                       {{before, random_tensor(x_type, 1, -1, 1)},
                                        {w, random_tensor(w_type, 2, -1, 1)},
                                        {dy, random_tensor(dy_type, 3, -1, 1)}},
                                       {.threads = 2, .isa = GetParam()});
  EXPECT_EQ(*values.at(same).bytes, *values.at(expected).bytes);
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         ConvMaxPoolTest,
                         testing::Values(core::Isa::kNative,
                                         core::Isa::kAvx2,
                                         core::Isa::kReference));

TEST(ConvMaxPool, RefusesWindowsOfPaddingOnly) {
  const Pool outside{.kernel = {1, 1}, .pads_begin = {1, 1}, .pads_end = {0, 0}};
  EXPECT_FALSE(windows_meet_input(with_window_defaults(outside), {1, 3, 8, 9}));
  EXPECT_TRUE(windows_meet_input(with_window_defaults(kHalves), {1, 3, 8, 9}));
  EXPECT_THROW(Net({1, 3, 8, 9}, 5, outside), Error);
}

}  // namespace
}  // namespace lowtide::ops
