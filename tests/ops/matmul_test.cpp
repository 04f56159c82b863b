// What the gradient of a product keeps.
#include "ops/matmul/matmul.h"

#include <gtest/gtest.h>

#include "autodiff/differentiate.h"
#include "graph/graph.h"
#include "ops/binary/binary.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

const core::TensorType kMatrix{DType::kFloat32, Shape{4, 4}};

// Differentiates y with respect to x and w and counts the backward nodes with this op.
int count_again(GraphBuilder& b,
                ValueId y,
                const std::vector<ValueId>& wrt,
                ValueId hidden,
                const graph::OpDef& op) {
  const autodiff::Seed seed{.output = y, .gradient = b.input("dy", b.type(y))};
  autodiff::differentiate(b, {&seed, 1}, wrt);
  int count = 0;
  for (std::size_t i = 0; i < b.graph().node_count(); ++i) {
    const graph::Node& node = b.graph().node(NodeId(i));
    if (node.phase != Phase::kBackward) continue;
    if (node.op == &op) ++count;
    for (const ValueId input : node.inputs) EXPECT_NE(input, hidden) << node.name;
  }
  return count;
}

TEST(MatMulGradient, ComputesAGeluAgainInsteadOfKeepingIt) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId w = b.input("w", kMatrix);
  const ValueId hidden = gelu(b, x);
  EXPECT_EQ(count_again(b, matmul(b, hidden, w), {x, w}, hidden, unary_op(UnaryKind::kGelu)), 1);
}

TEST(MatMulGradient, ComputesANormAgainOnceForSeveralProducts) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId w = b.input("w", kMatrix);
  const ValueId v = b.input("v", kMatrix);
  const ValueId scale = b.constant(Shape{4}, std::vector<float>(4, 1.0F), "scale");
  const ValueId hidden = layer_norm(b, x, scale, ValueId(), -1, 1e-5).y;
  const ValueId y = add(b, matmul(b, hidden, w), matmul(b, hidden, v));
  EXPECT_EQ(count_again(b, y, {x, w, v}, hidden, layer_norm_op()), 1);
}

TEST(MatMulGradient, KeepsWhatItWouldHaveToComputeFromSomethingElse) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", kMatrix);
  const ValueId w = b.input("w", kMatrix);
  const ValueId hidden = tanh(b, x);
  const ValueId y = matmul(b, hidden, w);
  const autodiff::Seed seed{.output = y, .gradient = b.input("dy", b.type(y))};
  const std::vector<ValueId> wrt = {x, w};
  autodiff::differentiate(b, {&seed, 1}, wrt);
  int readers = 0;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    if (node.phase != Phase::kBackward) continue;
    EXPECT_NE(node.op, &unary_op(UnaryKind::kTanh));
    for (const ValueId input : node.inputs) readers += input == hidden ? 1 : 0;
  }
  EXPECT_EQ(readers, 2);
}

}  // namespace
}  // namespace lowtide::ops
