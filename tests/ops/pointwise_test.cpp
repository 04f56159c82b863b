// Literal results of elementwise ops, reductions and broadcasting, and the graphs they make.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "autodiff/differentiate.h"
#include "graph/evaluate.h"
#include "ops/arg_max/arg_max.h"
#include "ops/binary/binary.h"
#include "ops/broadcast/broadcast.h"
#include "ops/catalog.h"
#include "ops/determinant/determinant.h"
#include "ops/layout/layout.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"
#include "support/onnx_node.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::Layout;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> result_of(GraphBuilder& b, ValueId id) {
  return support::elements<T>(graph::interpret(b.graph(), {}, kNative).at(id));
}

ValueId vector(GraphBuilder& b, const Integers& elements) {
  return b.constant(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

ValueId vector(GraphBuilder& b, const Floats& elements) {
  return b.constant(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

Integers of_integers(BinaryKind kind, const Integers& a, const Integers& c) {
  Graph graph;
  GraphBuilder b(graph);
  return result_of<std::int64_t>(b, binary(b, kind, vector(b, a), vector(b, c)));
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    names.emplace_back(graph.node(graph::NodeId(i)).op->name());
  }
  return names;
}

// Reads one ONNX node by the rule that the catalog has for it.
ValueId read(GraphBuilder& b, support::NodeContent content) {
  for (const graph::OpDef* const op : catalog()) {
    for (const graph::OnnxRule& rule : op->onnx_rules()) {
      if (rule.type != content.type) continue;
      support::GivenNode node(b, std::move(content));
      return rule.read(node).front();
    }
  }
  ADD_FAILURE() << "no rule for " << content.type;
  return {};
}

TEST(Binary, IntegerDivisionIsCutTowardsZero) {
  const Integers a = {7, -7, 7, -7, 5};
  const Integers c = {3, 3, -3, -3, 0};
  EXPECT_EQ(of_integers(BinaryKind::kDiv, a, c), (Integers{2, -2, -2, 2, 0}));
  EXPECT_EQ(of_integers(BinaryKind::kMod, a, c), (Integers{1, 2, -2, -1, 0}));
  EXPECT_EQ(of_integers(BinaryKind::kFmod, a, c), (Integers{1, -1, 1, -1, 0}));
}

TEST(Binary, TheSmallestIntegerOverMinusOneWrapsAround) {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(of_integers(BinaryKind::kDiv, {lowest}, {-1}), Integers{lowest});
  EXPECT_EQ(of_integers(BinaryKind::kAdd, {lowest}, {-1}),
            Integers{std::numeric_limits<std::int64_t>::max()});
}

TEST(Binary, IntegerPowersAreWhole) {
  EXPECT_EQ(of_integers(BinaryKind::kPow, {2, -3, 5, 2, -1, 1, 0}, {10, 3, 0, -1, -3, -5, 0}),
            (Integers{1024, -27, 1, 0, -1, 1, 1}));
}

TEST(Binary, BroadcastingFollowsNumpy) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId column = b.constant(Shape{2, 1}, Integers{10, 20});
  const ValueId sum = add(b, column, vector(b, Integers{1, 2, 3}));
  EXPECT_EQ(b.type(sum).shape, (Shape{2, 3}));
  EXPECT_EQ(result_of<std::int64_t>(b, sum), (Integers{11, 12, 13, 21, 22, 23}));
}

TEST(Binary, ShapesThatDoNotMatchAreRefused) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId a = vector(b, Floats{1, 2});
  EXPECT_THROW(add(b, a, vector(b, Floats{1, 2, 3})), Error);
  EXPECT_THROW(add(b, a, vector(b, Integers{1, 2})), Error);
  EXPECT_THROW(binary(b, BinaryKind::kAnd, a, a), Error);
}

TEST(Binary, OneChannelsLastOperandMakesTheResultChannelsLast) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3, 4, 4}, Layout::kChannelsLast});
  const ValueId bias = b.input("bias", {core::DType::kFloat32, {3, 1, 1}, Layout::kPlain});
  EXPECT_EQ(b.type(add(b, bias, x)).layout, Layout::kChannelsLast);
  // The bias is brought into the form by views alone.
  for (std::size_t i = 0; i + 1 < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(graph::NodeId(i));
    const auto in = graph.types(node.inputs);
    const auto out = graph.types(node.outputs);
    ASSERT_EQ(node.op->aliases(node.attrs, {in, out}).size(), 1U);
    EXPECT_EQ(node.op->aliases(node.attrs, {in, out})[0].sharing, graph::Sharing::kView);
  }
}

TEST(Binary, ScalarsStayAsTheyAre) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3, 4, 4}, Layout::kChannelsLast});
  mul(b, x, b.constant(Shape{}, Floats{2}));
  EXPECT_EQ(op_names(graph), std::vector<std::string>{"Mul"});
}

TEST(Binary, CommonPowersBecomeProducts) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{3, -2});
  const ValueId cube = pow(b, x, b.constant(Shape{}, Floats{3}));
  EXPECT_EQ(op_names(graph), (std::vector<std::string>{"Mul", "Mul"}));
  EXPECT_EQ(result_of<float>(b, cube), (Floats{27, -8}));
}

TEST(Binary, ResultsOfAnotherDtypeShareNoMemory) {
  Graph graph;
  GraphBuilder b(graph);
  // Four bytes of float against four bools: equal bytes, yet not the same elements.
  const ValueId one = vector(b, Floats{1});
  const ValueId less = binary(b, BinaryKind::kLess, one, vector(b, Floats{0, 1, 2, 3}));
  const graph::Node& node = graph.node(graph.value(less).producer);
  const auto in = graph.types(node.inputs);
  const auto out = graph.types(node.outputs);
  EXPECT_TRUE(node.op->aliases(node.attrs, {in, out}).empty());
  EXPECT_EQ(result_of<std::uint8_t>(b, less), (std::vector<std::uint8_t>{0, 0, 1, 1}));
}

struct Derived {
  Floats gradient;
  std::vector<std::string> ops;
};

// d(sum of y)/dx.
template <class F>
Derived derived(const Floats& at, F&& build) {
  Graph graph;
  GraphBuilder b(graph);
  const Shape shape{static_cast<std::int64_t>(at.size())};
  const ValueId x = b.input("x", {core::DType::kFloat32, shape, Layout::kPlain});
  const ValueId y = build(b, x);
  const Shape y_shape = b.type(y).shape;
  const ValueId ones =
      b.constant(y_shape, Floats(static_cast<std::size_t>(y_shape.elements()), 1.0F));
  const std::vector<autodiff::Seed> seeds = {{y, ones}};
  const std::vector<ValueId> wrt = {x};
  const ValueId dx = autodiff::differentiate(b, seeds, wrt).front();
  const auto values = graph::interpret(graph, {{x, support::tensor(shape, at)}}, kNative);
  return {support::elements<float>(values.at(dx)), op_names(graph)};
}

TEST(Gradient, OfEqualOperandsOfAMaximumIsSplit) {
  const auto build = [](GraphBuilder& b, ValueId x) { return maximum(b, x, vector(b, Floats{2})); };
  EXPECT_EQ(derived({1, 2, 3}, build).gradient, (Floats{0, 0.5F, 1}));
}

TEST(Gradient, OfAMaximumAlongAnAxisIsSplitBetweenEqualElements) {
  const auto build = [](GraphBuilder& b, ValueId x) {
    return reduce_max(b, x, {0}, KeepDims::kNo);
  };
  EXPECT_EQ(derived({1, 5, 5, 2}, build).gradient, (Floats{0, 0.5F, 0.5F, 0}));
}

TEST(Gradient, OfReluIsZeroAtZeroAndSavesOneBitWhereNothingElseIsKept) {
  const Derived d = derived({-1, 0, 2}, relu);
  EXPECT_EQ(d.gradient, (Floats{0, 0, 1}));
  EXPECT_EQ(d.ops, (std::vector<std::string>{"Relu", "RangeMask", "MaskGradient"}));
}

TEST(Gradient, OfReluReadsItsOutputWhereThatIsKept) {
  const auto build = [](GraphBuilder& b, ValueId x) {
    const ValueId y = relu(b, x);
    return mul(b, y, y);
  };
  const Derived d = derived({-1, 0, 2}, build);
  EXPECT_EQ(d.gradient, (Floats{0, 0, 4}));
  EXPECT_EQ(d.ops.back(), "ReluGradient");
}

TEST(Gradient, OfClipIsZeroOnItsBounds) {
  const auto build = [](GraphBuilder& b, ValueId x) { return clip(b, x, 0, 6); };
  EXPECT_EQ(derived({-1, 0, 3, 6, 7}, build).gradient, (Floats{0, 0, 1, 0, 0}));
}

TEST(Gradient, OfAProductIsTheOtherFactorsEvenAtZero) {
  const auto build = [](GraphBuilder& b, ValueId x) {
    return reduce(b, ReduceKind::kProd, x, {0}, KeepDims::kNo);
  };
  EXPECT_EQ(derived({2, 3, 4}, build).gradient, (Floats{12, 8, 6}));
  EXPECT_EQ(derived({2, 0, 4}, build).gradient, (Floats{0, 8, 0}));
  EXPECT_EQ(derived({0, 0, 4}, build).gradient, (Floats{0, 0, 0}));
}

TEST(Gradient, OfADeterminantIsItsCofactorsThoughTheMatrixIsSingular) {
  const auto of_order = [](std::int64_t n) {
    return [n](GraphBuilder& b, ValueId x) { return determinant(b, reshape(b, x, Shape{n, n})); };
  };
  EXPECT_EQ(derived({1, 2, 2, 4}, of_order(2)).gradient, (Floats{4, -2, -2, 1}));
  EXPECT_EQ(derived({7}, of_order(1)).gradient, (Floats{1}));
  EXPECT_EQ(derived({1, 0, 0, 0, 2, 0, 0, 0, 0}, of_order(3)).gradient,
            (Floats{0, 0, 0, 0, 0, 0, 0, 0, 2}));
}

// A root alone keeps what analysis and PyTorch say.
TEST(Gradient, OfARootIsInfiniteAtZeroAndOfANormZero) {
  const auto root = [](GraphBuilder& b, ValueId x) { return sqrt(b, x); };
  EXPECT_EQ(derived({0, 4}, root).gradient,
            (Floats{std::numeric_limits<float>::infinity(), 0.25F}));
  const auto norm = [](GraphBuilder& b, ValueId x) { return root_of_squares(b, x); };
  EXPECT_EQ(derived({0, 4}, norm).gradient, (Floats{0, 0.25F}));
}

TEST(Gradient, OfNormsIsZeroWhereTheyAre) {
  const auto of = [](const std::string& type, std::int64_t p, const Shape& shape) {
    return [=](GraphBuilder& b, ValueId x) {
      support::NodeContent node{.type = type, .inputs = {reshape(b, x, shape)}};
      if (p > 0) node.attributes.emplace("p", p);
      return read(b, std::move(node));
    };
  };
  const auto expect_near = [](const Floats& found, const Floats& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5F) << i;
  };
  const double cube = std::cbrt(27.0 + 64.0);
  const std::vector<std::tuple<std::string, std::int64_t, Shape, Floats>> norms = {
      {"ReduceL1", 0, {2}, {1, 1}},
      {"ReduceL2", 0, {2}, {0.6F, 0.8F}},
      {"GlobalLpPool", 2, {1, 1, 2}, {0.6F, 0.8F}},
      {"GlobalLpPool",
       3,
       {1, 1, 2},
       {static_cast<float>(9 / (cube * cube)), static_cast<float>(16 / (cube * cube))}},
      // Of (x + y) / |x|: 1 / 5 - 3 * 7 / 125, and so on.
      {"LpNormalization", 2, {2}, {0.032F, -0.024F}},
      {"LpNormalization", 1, {2}, {0, 0}}};
  for (const auto& [type, p, shape, wanted] : norms) {
    SCOPED_TRACE(type);
    expect_near(derived({3, 4}, of(type, p, shape)).gradient, wanted);
    EXPECT_EQ(derived({0, 0}, of(type, p, shape)).gradient, (Floats{0, 0}));
  }
}

TEST(Gradient, OfRoundingDoesNotFlow) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, Shape{2}, Layout::kPlain});
  const std::vector<autodiff::Seed> seeds = {{floor(b, x), vector(b, Floats{1, 1})}};
  const std::vector<ValueId> wrt = {x};
  EXPECT_FALSE(autodiff::differentiate(b, seeds, wrt).front().valid());
}

TEST(Reduce, PoolingChannelsLastImagesConvertsNothing) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3, 4, 4}, Layout::kChannelsLast});
  const ValueId y = reduce_mean(b, x, {3, 2}, KeepDims::kNo);
  EXPECT_EQ(b.type(y).str(), "float32[2, 3]");
  EXPECT_EQ(op_names(graph), (std::vector<std::string>{"ReduceMean", "ConvertLayout", "Reshape"}));
  EXPECT_TRUE(core::layouts_coincide(b.type(graph.node(graph::NodeId(1)).inputs[0]).shape));
}

TEST(Reduce, SummingToTheSameShapeEmitsNothing) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{1, 2});
  EXPECT_EQ(sum_to(b, x, Shape{2}), x);
  EXPECT_EQ(broadcast_to(b, x, Shape{2}), x);
}

TEST(Reduce, DroppedAxesKeepTheBatchOpen) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3, 4}, Layout::kPlain});
  const ValueId y = reduce_sum(b, x, {1}, KeepDims::kNo);
  const graph::Node& node = graph.node(graph.value(y).producer);
  EXPECT_EQ(node.attrs.as<Reshape>().target, (Integers{0, 4}));
}

TEST(OnnxRules, ReadAxesAsAttributeAndAsInput) {
  for (const int opset : {11, 18}) {
    Graph graph;
    GraphBuilder b(graph);
    const ValueId x = b.constant(Shape{2, 3}, Floats{1, 2, 3, 4, 5, 9});
    support::NodeContent content{.type = "ReduceMean", .opset = opset, .inputs = {x}};
    if (opset < 18) {
      content.attributes = {{"axes", Integers{-1}}, {"keepdims", std::int64_t{0}}};
    } else {
      content.inputs.push_back(vector(b, Integers{-1}));
      content.attributes = {{"keepdims", std::int64_t{0}}};
    }
    const ValueId y = read(b, std::move(content));
    EXPECT_EQ(b.type(y).shape, Shape{2});
    EXPECT_EQ(result_of<float>(b, y), (Floats{2, 6}));
  }
}

TEST(OnnxRules, EmptyAxesMeanAllOrNone) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant(Shape{2, 2}, Floats{1, 2, 3, 4});
  const ValueId all = read(b, {.type = "ReduceSum", .opset = 13, .inputs = {x}});
  EXPECT_EQ(result_of<float>(b, all), Floats{10});
  EXPECT_EQ(b.type(all).shape, (Shape{1, 1}));
  EXPECT_EQ(read(b, {.type = "ReduceSum",
                     .opset = 13,
                     .inputs = {x},
                     .attributes = {{"noop_with_empty_axes", std::int64_t{1}}}}),
            x);
}

TEST(OnnxRules, ReductionsOfSomethingAreComposed) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{3, -4});
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "ReduceL2", .inputs = {x}})), Floats{5});
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "ReduceL1", .inputs = {x}})), Floats{7});
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "ReduceSumSquare", .inputs = {x}})), Floats{25});
  const ValueId large = vector(b, Floats{1000, 1000});
  EXPECT_FLOAT_EQ(result_of<float>(b, read(b, {.type = "ReduceLogSumExp", .inputs = {large}}))[0],
                  1000.0F + std::log(2.0F));
}

TEST(OnnxRules, LogSumExpTakesInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x =
      b.constant(Shape{3, 2}, Floats{-kInfinity, -kInfinity, -kInfinity, 1, kInfinity, 1});
  const ValueId y =
      read(b, {.type = "ReduceLogSumExp", .inputs = {x}, .attributes = {{"axes", Integers{1}}}});
  EXPECT_EQ(result_of<float>(b, y), (Floats{-kInfinity, 1, kInfinity}));
}

TEST(OnnxRules, ClipReadsBoundsOfEveryOpset) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{-1, 3, 9, kNaN});
  const ValueId old = read(
      b, {.type = "Clip", .opset = 6, .inputs = {x}, .attributes = {{"min", 0.0F}, {"max", 6.0F}}});
  const ValueId high = b.constant(Shape{}, Floats{6});
  const ValueId open = read(b, {.type = "Clip", .opset = 13, .inputs = {x, ValueId(), high}});
  const Floats clipped = result_of<float>(b, old);
  EXPECT_EQ(Floats(clipped.begin(), clipped.end() - 1), (Floats{0, 3, 6}));
  EXPECT_TRUE(std::isnan(clipped.back()));
  EXPECT_EQ(result_of<float>(b, open)[0], -1);
  EXPECT_EQ(result_of<float>(b, open)[2], 6);
}

TEST(OnnxRules, ChainsTakeOneInputOrMany) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{1, 5});
  const ValueId y = vector(b, Floats{4, 2});
  const ValueId z = vector(b, Floats{1, 2});
  EXPECT_EQ(read(b, {.type = "Sum", .inputs = {x}}), x);
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "Mean", .inputs = {x, y, z}})), (Floats{2, 3}));
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "Max", .inputs = {x, y, z}})), (Floats{4, 5}));
}

TEST(OnnxRules, PowTakesAnIntegerExponent) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = vector(b, Floats{2, 3});
  const ValueId four = b.constant(Shape{}, Integers{4});
  EXPECT_EQ(result_of<float>(b, read(b, {.type = "Pow", .inputs = {x, four}})), (Floats{16, 81}));
}

TEST(ArgMax, TakesTheFirstOrTheLastOfEqualElements) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant(Shape{2, 4}, Floats{1, 7, 7, 0, 2, kNaN, 9, 2});
  EXPECT_EQ(result_of<std::int64_t>(b, arg_max(b, x, -1)), (Integers{1, 1}));
  const ValueId last = read(b, {.type = "ArgMax",
                                .inputs = {x},
                                .attributes = {{"axis", std::int64_t{1}},
                                               {"keepdims", std::int64_t{0}},
                                               {"select_last_index", std::int64_t{1}}}});
  EXPECT_EQ(result_of<std::int64_t>(b, last), (Integers{2, 1}));
  EXPECT_THROW(arg_max(b, b.constant(Shape{2, 0}, Floats{}), 1), Error);
}

}  // namespace
}  // namespace lowtide::ops
