// The gradient of weights from what the convolution's input was made of has the bits of the
// gradient from that input: plans choose between the two.
#include "ops/normed_conv_gradient/normed_conv_gradient.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Layout;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;
using support::random_tensor;

struct Layer {
  const char* name;
  core::Shape x;
  core::Shape w;
  Conv conv;
  UnaryKind kind = UnaryKind::kRelu;
  bool residual = false;
};

class NormedConvGradientTest : public testing::TestWithParam<core::Isa> {
 protected:
  // Gradients from y and from x, of x with some odd numbers in it.
  void compare(const Layer& layer) {
    Graph graph;
    GraphBuilder b(graph);
    const core::TensorType image{DType::kFloat32, layer.x, Layout::kChannelsLast};
    const core::TensorType channel{DType::kFloat32, {layer.x[1]}};
    std::map<ValueId, ConstantTensor> given;
    const auto input = [&](const std::string& name, const core::TensorType& type, float low) {
      const ValueId id = b.input(name, type);
      given[id] = random_tensor(type, given.size(), low, 2);
      return id;
    };
    const ValueId x = input("x", image, -2);
    const NormInputs norm{.x = x,
                          .mean = input("mean", channel, -1),
                          .inverse_deviation = input("inverse", channel, 0.25F),
                          .scale = input("scale", channel, -2),
                          .bias = input("bias", channel, -1)};
    const ValueId y = layer.residual ? batch_norm_add_relu(b, norm, input("residual", image, -2))
                                     : batch_norm_activate(
                                           b, norm, {.kind = layer.kind, .alpha = 0, .beta = 0.75});
    const ValueId w = input("w", {DType::kFloat32, layer.w}, -1);
    const ValueId z = conv(b, y, w, ValueId(), layer.conv);
    const Conv attributes = graph.node(graph.value(z).producer).attrs.as<Conv>();
    const ValueId dy = input("dy", graph.type(z), -1);
    const ValueId dw = b.add_one(conv_weight_gradient_op(), graph::Attrs::of(attributes), {y, dy});
    const auto other = normed_conv_gradient(graph, graph.node(graph.value(dw).producer));
    ASSERT_TRUE(other.has_value()) << layer.name;
    EXPECT_EQ(other->outputs, std::vector<ValueId>{dw});
    const ValueId same = b.add_one(*other->op, other->attrs, other->inputs);
    auto bytes = std::make_shared<std::vector<std::byte>>(*given[x].bytes);
    auto* const numbers = reinterpret_cast<float*>(bytes->data());
    numbers[3] = -0.0F;
    numbers[5] = std::numeric_limits<float>::denorm_min();
    numbers[layer.x.elements() / 2] = 1e30F;
    given[x].bytes = std::move(bytes);
    const auto values = graph::interpret(graph, given, {.threads = 2, .isa = GetParam()});
    EXPECT_EQ(*values.at(same).bytes, *values.at(dw).bytes) << layer.name;
  }
};

TEST_P(NormedConvGradientTest, HasTheBitsOfThatFromTheInputItself) {
  const Conv same{.pads_begin = {1, 1}, .pads_end = {1, 1}};
  const std::vector<Layer> layers = {
      {"winograd", {2, 16, 16, 16}, {16, 16, 3, 3}, same},
      {"winograd_odd", {3, 19, 11, 13}, {21, 19, 3, 3}, same, UnaryKind::kSilu},
      {"winograd_wide",
       {1, 18, 9, 12},
       {40, 18, 3, 3},
       {.pads_begin = {2, 3}, .pads_end = {4, 0}},
       UnaryKind::kHardSwish},
      {"winograd_sum", {2, 40, 13, 10}, {17, 40, 3, 3}, same, UnaryKind::kRelu, true},
      {"tiles", {3, 9, 9, 7}, {37, 9, 3, 3}, same, UnaryKind::kClip},
      {"tiles_strided",
       {2, 16, 9, 10},
       {33, 16, 3, 2},
       {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}}},
      {"tiles_dilated",
       {1, 9, 11, 12},
       {32, 9, 3, 3},
       {.dilations = {2, 3}, .pads_begin = {2, 3}, .pads_end = {2, 3}},
       UnaryKind::kSilu},
      {"tiles_cut", {2, 11, 8, 9}, {34, 11, 3, 3}, {.pads_begin = {-1, 0}, .pads_end = {0, -2}}},
      {"tiles_grouped",
       {2, 18, 6, 7},
       {70, 9, 3, 3},
       {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2}},
      {"tiles_few",
       {2, 3, 17, 19},
       {32, 3, 7, 7},
       {.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}}},
      {"tiles_signal",
       {5, 20, 33},
       {40, 20, 4},
       {.strides = {2}, .pads_begin = {2}, .pads_end = {1}}},
      {"tiles_of_pixels", {3, 130, 7, 9}, {129, 130, 1, 1}, {}},
      {"tiles_of_pixels_sum", {3, 136, 7, 9}, {129, 136, 1, 1}, {}, UnaryKind::kRelu, true},
      {"tiles_sum",
       {2, 24, 9, 10},
       {33, 24, 3, 2},
       {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}},
       UnaryKind::kRelu,
       true},
  };
  for (const Layer& layer : layers) compare(layer);
}

// Kernels of the library take the input as it is.
TEST_P(NormedConvGradientTest, IsOfferedWhereAKernelComputesWhileItPacks) {
  Graph graph;
  GraphBuilder b(graph);
  const core::TensorType image{DType::kFloat32, {2, 8, 5, 5}, Layout::kChannelsLast};
  const core::TensorType channel{DType::kFloat32, {8}};
  const ValueId x = b.input("x", image);
  const ValueId y = batch_norm_activate(b,
                                        {x, b.input("m", channel), b.input("i", channel),
                                         b.input("s", channel), b.input("b", channel)},
                                        {.kind = UnaryKind::kRelu});
  const ValueId w = b.input("w", {DType::kFloat32, {8, 1, 3, 3}});
  const ValueId z = conv(b, y, w, ValueId(), {.groups = 8});
  const Conv depthwise = graph.node(graph.value(z).producer).attrs.as<Conv>();
  const ValueId dw = b.add_one(conv_weight_gradient_op(), graph::Attrs::of(depthwise), {y, z});
  EXPECT_FALSE(normed_conv_gradient(graph, graph.node(graph.value(dw).producer)));
  EXPECT_FALSE(normed_conv_gradient(graph, graph.node(graph.value(z).producer)));
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         NormedConvGradientTest,
                         testing::Values(core::Isa::kNative,
                                         core::Isa::kAvx2,
                                         core::Isa::kReference));

}  // namespace
}  // namespace lowtide::ops
