// The gradient of weights from the parts that a convolution's input was joined of has the bits of
// the gradient from that input: plans choose between the two.
#include "ops/joined_conv_gradient/joined_conv_gradient.h"

#include <string>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/concat/concat.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Layout;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::random_tensor;

struct Part {
  std::int64_t channels;
  std::optional<UnaryKind> norm = std::nullopt;  // and what follows it
};

struct Layer {
  core::Shape image;  // of any number of channels
  std::vector<Part> parts;
  std::int64_t out;
};

// A convolution of parts side by side and the gradient of its weights.
struct Net {
  explicit Net(const Layer& layer) : b(graph) {
    std::vector<ValueId> parts;
    std::int64_t all = 0;
    for (const Part& part : layer.parts) {
      all += part.channels;
      const core::TensorType channel{DType::kFloat32, {part.channels}};
      const ValueId x =
          input({DType::kFloat32, layer.image.with(1, part.channels), Layout::kChannelsLast}, -2);
      parts.push_back(x);
      if (!part.norm) continue;
      const NormInputs norm{.x = x,
                            .mean = input(channel, -1),
                            .inverse_deviation = input(channel, 0.25F),
                            .scale = input(channel, -2),
                            .bias = input(channel, -1)};
      parts.back() = batch_norm_activate(b, norm, {.kind = *part.norm});
    }
    const ValueId w = input({DType::kFloat32, {layer.out, all, 3, 3}}, -1);
    const ValueId z =
        conv(b, concat(b, parts, 1), w, ValueId(), {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const graph::Node convolution = graph.node(graph.value(z).producer);
    const ValueId dy = input(graph.type(z), -1);
    dw = b.add_one(conv_weight_gradient_op(), convolution.attrs, {convolution.inputs[0], dy});
  }

  ValueId input(const core::TensorType& type, float low) {
    const ValueId id = b.input("input" + std::to_string(given.size()), type);
    given[id] = random_tensor(type, given.size(), low, 2);
    return id;
  }

  [[nodiscard]] std::optional<graph::Node> other() const {
    return joined_conv_gradient(graph, graph.node(graph.value(dw).producer));
  }

  Graph graph;
  GraphBuilder b;
  std::map<ValueId, ConstantTensor> given;
  ValueId dw;
};

class JoinedConvGradientTest : public testing::TestWithParam<core::Isa> {};

TEST_P(JoinedConvGradientTest, HasTheBitsOfThatFromTheWhole) {
  const std::vector<Layer> layers = {
      {{2, 1, 16, 16}, {{16}, {16, UnaryKind::kRelu}}, 16},
      {{3, 1, 11, 13}, {{48, UnaryKind::kSilu}, {16}, {19, UnaryKind::kRelu}}, 21},
      {{1, 1, 9, 12}, {{16, UnaryKind::kHardSwish}, {32, UnaryKind::kRelu}, {5}}, 40},
      {{2, 1, 13, 10}, {{64}, {64, UnaryKind::kRelu}}, 64},
      {{1, 1, 30, 31}, {{144, UnaryKind::kRelu}, {80}}, 17},
  };
  for (const Layer& layer : layers) {
    Net net(layer);
    const auto other = net.other();
    ASSERT_TRUE(other.has_value()) << layer.image.str();
    EXPECT_EQ(other->outputs, std::vector<ValueId>{net.dw});
    const ValueId same = net.b.add_one(*other->op, other->attrs, other->inputs);
    const auto values = graph::interpret(net.graph, net.given, {.threads = 2, .isa = GetParam()});
    EXPECT_EQ(*values.at(same).bytes, *values.at(net.dw).bytes) << layer.image.str();
  }
}

// Vectors of channels must not lie in two parts, and other kernels take the whole as it is.
TEST(JoinedConvGradient, IsOfferedWhereWholeVectorsComeFromOnePart) {
  EXPECT_TRUE(Net({{2, 1, 16, 16}, {{16}, {17}}, 16}).other());
  EXPECT_FALSE(Net({{2, 1, 16, 16}, {{17}, {16}}, 16}).other());
  EXPECT_FALSE(Net({{1, 1, 5, 6}, {{16}, {16}}, 2}).other());
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         JoinedConvGradientTest,
                         testing::Values(core::Isa::kNative,
                                         core::Isa::kAvx2,
                                         core::Isa::kReference));

}  // namespace
}  // namespace lowtide::ops
