// Activations and biases that are written out become single ops with the same numbers.
#include "passes/fuse/fuse.h"

#include <cmath>
#include <functional>
#include <numbers>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluate.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/unary/unary.h"
#include "support/tensors.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;
using support::elements;
using support::tensor;
using support::wave;

using Build = std::function<ValueId(GraphBuilder&, ValueId)>;

const Shape kShape{3, 7};

struct Net {
  Graph graph;
  ValueId x;
};

Net net_of(const Build& build) {
  Net net;
  GraphBuilder b(net.graph);
  net.x = b.input("x", {DType::kFloat32, kShape});
  net.graph.outputs() = {build(b, net.x)};
  return net;
}

std::vector<float> run(const Net& net) {
  const auto values =
      graph::interpret(net.graph, {{net.x, tensor(kShape, wave<float>(kShape.elements()))}}, {});
  return elements<float>(values.at(net.graph.outputs()[0]));
}

// Fuses, expects this op alone, and the numbers of before.
void expect_single(const Build& build, const graph::OpDef& op) {
  Net net = net_of(build);
  const std::vector<float> expected = run(net);
  fuse(net.graph);
  EXPECT_EQ(graph::verify(net.graph), std::vector<std::string>());
  ASSERT_EQ(net.graph.node_count(), 1U) << graph::dump(net.graph);
  EXPECT_EQ(net.graph.node(NodeId(0)).op, &op);
  const std::vector<float> actual = run(net);
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-6) << i;
}

void expect_untouched(const Build& build) {
  Net net = net_of(build);
  const std::string before = graph::dump(net.graph);
  fuse(net.graph);
  EXPECT_EQ(graph::dump(net.graph), before);
}

ValueId number(GraphBuilder& b, double value) {
  return b.constant(Shape(), std::vector<float>{static_cast<float>(value)});
}

ValueId erf_plus(GraphBuilder& b, ValueId x, double one) {
  return ops::add(b, ops::erf(b, ops::div(b, x, number(b, std::numbers::sqrt2))), number(b, one));
}

ValueId tanh_plus_one(GraphBuilder& b, ValueId x, ValueId cube) {
  const ValueId inner = ops::add(b, x, ops::mul(b, cube, number(b, 0.044715)));
  const ValueId curve =
      ops::tanh(b, ops::mul(b, inner, number(b, std::sqrt(2 / std::numbers::pi))));
  return ops::add(b, curve, number(b, 1));
}

TEST(Fuse, GeluByErf) {
  const graph::OpDef& op = ops::unary_op(ops::UnaryKind::kGelu);
  expect_single(
      [](GraphBuilder& b, ValueId x) {
        return ops::mul(b, ops::mul(b, x, erf_plus(b, x, 1)), number(b, 0.5));
      },
      op);
  expect_single([](GraphBuilder& b,
                   ValueId x) { return ops::mul(b, ops::scale(b, x, 0.5), erf_plus(b, x, 1)); },
                op);
}

TEST(Fuse, GeluByTanh) {
  const graph::OpDef& op = ops::unary_op(ops::UnaryKind::kGeluTanh);
  expect_single(
      [](GraphBuilder& b, ValueId x) {
        const ValueId cube = ops::pow(b, x, number(b, 3));
        return ops::mul(b, ops::mul(b, x, number(b, 0.5)), tanh_plus_one(b, x, cube));
      },
      op);
  expect_single(
      [](GraphBuilder& b, ValueId x) {
        const ValueId cube = ops::mul(b, ops::mul(b, x, x), x);
        return ops::mul(b, ops::mul(b, number(b, 0.5), x), tanh_plus_one(b, x, cube));
      },
      op);
}

TEST(Fuse, LeavesWhatOnlyLooksLikeGelu) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    return ops::mul(b, ops::mul(b, x, erf_plus(b, x, 1)), number(b, 0.6));
  });
  expect_untouched([](GraphBuilder& b, ValueId x) {
    return ops::mul(b, ops::mul(b, x, erf_plus(b, x, 2)), number(b, 0.5));
  });
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const ValueId square = ops::mul(b, x, x);
    return ops::mul(b, ops::mul(b, x, number(b, 0.5)), tanh_plus_one(b, x, square));
  });
}

ValueId weight(GraphBuilder& b) { return b.constant(Shape{7, 4}, wave<float>(28), "w"); }

TEST(Fuse, BiasesJoinTheProduct) {
  for (const bool first : {false, true}) {
    expect_single(
        [&](GraphBuilder& b, ValueId x) {
          const ValueId bias = b.constant(Shape{4}, wave<float>(4, 1), "b");
          const ValueId y = ops::matmul(b, x, weight(b));
          return first ? ops::add(b, bias, y) : ops::add(b, y, bias);
        },
        ops::matmul_op());
  }
}

TEST(Fuse, LeavesProductsThatSomethingElseReads) {
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const ValueId bias = b.constant(Shape{4}, wave<float>(4, 1), "b");
    const ValueId y = ops::matmul(b, x, weight(b));
    return ops::mul(b, ops::add(b, y, bias), y);
  });
  expect_untouched([](GraphBuilder& b, ValueId x) {
    const ValueId column = b.constant(Shape{3, 1}, wave<float>(3, 1), "b");
    return ops::add(b, ops::matmul(b, x, weight(b)), column);
  });
}

}  // namespace
}  // namespace lowtide::passes
