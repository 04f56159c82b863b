// Gradients of small graphs against finite differences, and the rules of differentiate() itself.
#include "autodiff/differentiate.h"

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/binary/binary.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/pair_loss/pair_loss.h"
#include "ops/unary/unary.h"
#include "support/nodes.h"
#include "support/tensors.h"

namespace lowtide::autodiff {
namespace {

using core::DType;
using core::Shape;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::Phase;
using support::elements;
using support::tensor;
using support::wave;

using Given = std::map<ValueId, ConstantTensor>;

const core::TensorType kMatrix{DType::kFloat64, Shape{3, 4}};

// Sum of the output's elements weighted by the seed's.
double weighted(const Graph& graph, ValueId output, ValueId seed, const Given& given) {
  const auto values = graph::interpret(graph, given, {});
  const std::vector<double> y = elements<double>(values.at(output));
  const std::vector<double> weights = elements<double>(given.at(seed));
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
  return sum;
}

// Builds y from inputs x and c, and checks dy/dx and dy/dc against central differences.
void expect_gradients(const std::function<ValueId(GraphBuilder&, ValueId, ValueId)>& build) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId c = b.input("c", kMatrix);
  const ValueId y = build(b, x, c);
  const ValueId seed = b.input("seed", b.type(y));
  const Seed seeds{.output = y, .gradient = seed};
  const std::vector<ValueId> wrt = {x, c};
  const std::vector<ValueId> gradients = differentiate(b, {&seeds, 1}, wrt);
  ASSERT_EQ(verify(graph), std::vector<std::string>());
  const Given given = {
      {x, tensor(kMatrix.shape, wave<double>(12))},
      {c, tensor(kMatrix.shape, wave<double>(12, 1.0))},
      {seed, tensor(b.type(y).shape, wave<double>(b.type(y).shape.elements(), 2))}};
  const auto values = graph::interpret(graph, given, {});
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    ASSERT_TRUE(gradients[k].valid());
    EXPECT_EQ(graph.type(gradients[k]), graph.type(wrt[k]));
    const std::vector<double> found = elements<double>(values.at(gradients[k]));
    for (std::size_t i = 0; i < found.size(); ++i) {
      constexpr double kStep = 1e-6;
      const auto moved = [&](double step) {
        Given changed = given;
        std::vector<double> entries = elements<double>(given.at(wrt[k]));
        entries[i] += step;
        changed[wrt[k]] = tensor(kMatrix.shape, entries);
        return weighted(graph, y, seed, changed);
      };
      EXPECT_NEAR(found[i], (moved(kStep) - moved(-kStep)) / (2 * kStep), 1e-7)
          << "input " << k << ", element " << i;
    }
  }
}

TEST(Differentiate, Chains) {
  expect_gradients([](GraphBuilder& b, ValueId x, ValueId c) {
    return ops::tanh(b, ops::mul(b, ops::sigmoid(b, x), c));
  });
}

TEST(Differentiate, ValuesReadTwiceByOneNode) {
  expect_gradients([](GraphBuilder& b, ValueId x, ValueId c) {
    return ops::add(b, ops::mul(b, x, x), ops::mul(b, c, x));
  });
}

TEST(Differentiate, ValuesReadByManyNodes) {
  expect_gradients([](GraphBuilder& b, ValueId x, ValueId c) {
    const ValueId h = ops::add(b, x, c);
    ValueId sum = ops::sin(b, h);
    sum = ops::add(b, sum, ops::exp(b, h));
    sum = ops::add(b, sum, ops::mul(b, h, x));
    return ops::sub(b, sum, h);
  });
}

TEST(Differentiate, MatrixProductsOfSharedValues) {
  expect_gradients([](GraphBuilder& b, ValueId x, ValueId c) {
    const ValueId product = ops::matmul(b, x, c, {.transpose_b = true});
    return ops::matmul(b, product, ops::add(b, x, c));
  });
}

// A table that tokens and the output layer share: its second gradient needs no table of its own.
TEST(Differentiate, RowsOfATableAreAddedToItsOtherGradient) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId table = b.input("table", kMatrix);
  const ValueId tokens = b.input("tokens", {DType::kInt64, Shape{5}});
  const ValueId y = ops::matmul(b, ops::gather(b, table, tokens, 0), table, {.transpose_b = true});
  const Seed seed{.output = y, .gradient = b.input("seed", b.type(y))};
  const std::vector<ValueId> wrt = {table};
  const ValueId gradient = differentiate(b, {&seed, 1}, wrt)[0];
  EXPECT_EQ(graph.node(graph.value(gradient).producer).op, &ops::gather_gradient_op());
  EXPECT_EQ(support::count(graph, ops::gather_gradient_op()), 1);
  EXPECT_EQ(support::count(graph, ops::binary_op(ops::BinaryKind::kAdd)), 0);
}

TEST(Differentiate, SeveralSeedsAddUp) {
  Graph graph;
  GraphBuilder b(graph);
  const core::TensorType one{DType::kFloat64, Shape{1}};
  const ValueId x = b.input("x", one);
  const ValueId square = ops::mul(b, x, x);
  const ValueId cube = ops::mul(b, square, x);
  const std::vector<Seed> seeds = {{square, b.input("s", one)}, {cube, b.input("t", one)}};
  const std::vector<ValueId> wrt = {x};
  const ValueId gradient = differentiate(b, seeds, wrt)[0];
  const auto number = [](double value) { return tensor(Shape{1}, std::vector<double>{value}); };
  const auto values = graph::interpret(
      graph, {{x, number(3)}, {seeds[0].gradient, number(10)}, {seeds[1].gradient, number(1)}}, {});
  EXPECT_DOUBLE_EQ(elements<double>(values.at(gradient))[0], 10 * 6 + 27);
}

TEST(Differentiate, ValuesThatDoNotReachTheOutputHaveNoGradient) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId aside = b.input("aside", kMatrix);
  const ValueId unread = b.input("unread", kMatrix);
  ops::sin(b, aside);
  const ValueId y = ops::sin(b, x);
  const Seed seed{.output = y, .gradient = b.input("seed", kMatrix)};
  const std::vector<ValueId> wrt = {aside, x, unread};
  const std::size_t before = graph.node_count();
  const std::vector<ValueId> gradients = differentiate(b, {&seed, 1}, wrt);
  EXPECT_FALSE(gradients[0].valid());
  EXPECT_TRUE(gradients[1].valid());
  EXPECT_FALSE(gradients[2].valid());
  EXPECT_EQ(graph.node_count(), before + 2);  // cos x, times the seed
}

TEST(Differentiate, ALossNeedsNoSeed) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId target = b.input("target", kMatrix);
  const ValueId normalizer = b.input("n", {DType::kFloat64, Shape{}}, graph::Role::kScalar);
  const Seed seed{.output = ops::pair_loss(b, {}, x, target, normalizer), .gradient = {}};
  const std::vector<ValueId> wrt = {x};
  const ValueId gradient = differentiate(b, {&seed, 1}, wrt)[0];
  const std::vector<double> at = wave<double>(12);
  const auto values =
      graph::interpret(graph,
                       {{x, tensor(kMatrix.shape, at)},
                        {target, tensor(kMatrix.shape, std::vector<double>(12, 0.25))},
                        {normalizer, tensor(Shape{}, std::vector<double>{0.5})}},
                       {});
  const std::vector<double> found = elements<double>(values.at(gradient));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(found[i], at[i] - 0.25, 1e-12);
}

TEST(Differentiate, TheBuilderIsHandedBackAsItWas) {
  Graph graph;
  GraphBuilder b(graph, Phase::kLoss);
  b.set_scope("outer");
  const ValueId x = b.input("x", kMatrix);
  const ValueId y = ops::exp(b, x);
  const Seed seed{.output = y, .gradient = b.input("seed", kMatrix)};
  const std::vector<ValueId> wrt = {x};
  const std::size_t before = graph.node_count();
  differentiate(b, {&seed, 1}, wrt);
  EXPECT_EQ(b.phase(), Phase::kLoss);
  EXPECT_EQ(b.scope(), "outer");
  for (std::size_t i = before; i < graph.node_count(); ++i) {
    EXPECT_EQ(graph.node(NodeId(i)).phase, Phase::kBackward);
  }
}

// A relu between two others saves one bit an element, in the forward pass and next to its input.
TEST(Differentiate, SavesStandDirectlyBehindTheirInputs) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, Shape{64}});
  b.set_scope("relu");
  const ValueId shifted = ops::add(b, x, x);
  const ValueId y = ops::relu(b, shifted);
  b.set_scope("rest");
  ValueId z = y;
  for (int i = 0; i < 3; ++i) z = ops::add(b, z, x);
  const Seed seed{.output = z, .gradient = b.input("seed", b.type(z))};
  const std::vector<ValueId> wrt = {x};
  const std::vector<std::string> before = {graph.value(shifted).name, graph.value(y).name,
                                           graph.value(z).name};
  differentiate(b, {&seed, 1}, wrt);
  ASSERT_EQ(verify(graph), std::vector<std::string>());
  std::vector<std::size_t> saves;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    if (graph.node(NodeId(i)).op == &ops::range_mask_op()) saves.push_back(i);
  }
  ASSERT_EQ(saves.size(), 1U);
  const graph::Node& save = graph.node(NodeId(saves[0]));
  EXPECT_EQ(save.phase, Phase::kForward);
  const NodeId producer = graph.value(save.inputs[0]).producer;
  EXPECT_EQ(saves[0], producer.index() + 1);
  EXPECT_EQ(graph.type(save.outputs[0]).bytes(), Bytes(8));
  // Value ids stay.
  EXPECT_EQ((std::vector<std::string>{graph.value(shifted).name, graph.value(y).name,
                                      graph.value(z).name}),
            before);
}

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

std::vector<core::TensorType> same_type(const Nothing&, graph::Types in) { return {in[0]}; }
graph::Cost free_of_charge(const Nothing&, const graph::Signature&) { return {}; }
void copy(const Nothing&, const graph::Signature& types, const graph::Run& run) {
  std::copy_n(run.in[0], types.in[0].bytes().count(), run.out[0]);
}

const graph::OpDef& wall_op() {
  static const graph::TypedOp<Nothing> op{{
      .name = "Wall",
      .infer = same_type,
      .gradient = graph::not_differentiable,
      .cost = free_of_charge,
      .repeat = graph::Repeat::kExact,
      .kernels = {{.name = "reference", .run = copy}},
  }};
  return op;
}

TEST(Differentiate, AnOpWithoutAGradientIsNamed) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId c = b.input("c", kMatrix);
  b.set_scope("block3.wall");
  const ValueId wall = b.add_one(wall_op(), graph::Attrs::of(Nothing()), {x});
  b.set_scope("sum");
  const ValueId y = ops::add(b, wall, c);
  const Seed seed{.output = y, .gradient = b.input("seed", kMatrix)};
  const std::vector<ValueId> beyond = {x};
  try {
    differentiate(b, {&seed, 1}, beyond);
    ADD_FAILURE() << "a gradient passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("block3.wall"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Wall"), std::string::npos) << error.what();
  }
  // What lies on this side of it is no trouble.
  const std::vector<ValueId> before = {c};
  EXPECT_TRUE(differentiate(b, {&seed, 1}, before)[0].valid());
}

TEST(Differentiate, IntegerInputsAreLeftAlone) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId logits = b.input("logits", {DType::kFloat32, Shape{2, 3}});
  const ValueId labels = b.input("labels", {DType::kInt64, Shape{2}});
  const ValueId normalizer = b.input("n", {DType::kFloat32, Shape{}}, graph::Role::kScalar);
  const ops::LossValues loss = ops::cross_entropy(b, logits, labels, normalizer, {});
  const Seed seed{.output = loss.loss, .gradient = {}};
  const std::vector<ValueId> wrt = {logits, labels};
  const std::vector<ValueId> gradients = differentiate(b, {&seed, 1}, wrt);
  EXPECT_TRUE(gradients[0].valid());
  EXPECT_FALSE(gradients[1].valid());
}

}  // namespace
}  // namespace lowtide::autodiff
