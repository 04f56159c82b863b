// Convolution and pooling against numbers worked out by hand: padding, above all.
#include "ops/conv/conv.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/catalog.h"
#include "ops/layout/layout.h"
#include "support/onnx_node.h"

namespace lowtide::ops {
namespace {

using graph::ValueId;
using support::NodeContent;
using Attributes = std::map<std::string, graph::OnnxAttribute, std::less<>>;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

constexpr core::Machine kMachine{.threads = 2, .isa = core::Isa::kNative};

struct Given {
  core::Shape shape;
  Floats elements;
};

// A graph of one ONNX node on constants, its last output brought to the plain layout.
struct NodeGraph {
  graph::Graph graph;
  std::vector<ValueId> inputs;
  ValueId output;

  NodeGraph(const std::string& type,
            const std::vector<Given>& given,
            const Attributes& attributes,
            std::size_t outputs = 1) {
    graph::GraphBuilder b(graph);
    for (const Given& g : given) inputs.push_back(b.constant(g.shape, g.elements));
    support::GivenNode node(
        b, {.type = type, .inputs = inputs, .attributes = attributes, .outputs = outputs});
    output = to_plain(b, read(node));
  }

  static ValueId read(support::GivenNode& node) {
    for (const graph::OpDef* const op : catalog()) {
      for (const graph::OnnxRule& rule : op->onnx_rules()) {
        if (rule.type == node.type()) return rule.read(node).at(node.output_count() - 1);
      }
    }
    throw core::fail(ErrorCode::kUnsupported, "no rule reads {}", node.type());
  }

  template <class T = float>
  [[nodiscard]] std::vector<T> values_of(ValueId id) const {
    const graph::ConstantTensor tensor = graph::interpret(graph, {}, kMachine).at(id);
    return {tensor.data<T>(), tensor.data<T>() + tensor.type.shape.elements()};
  }

  // The gradient of input i when every element of the output has gradient 1, 2, 3, ...
  [[nodiscard]] Floats gradient(std::size_t i) const {
    NodeGraph copy = *this;
    graph::GraphBuilder b(copy.graph, graph::Phase::kBackward);
    const core::Shape shape = graph.type(output).shape;
    Floats seed(static_cast<std::size_t>(shape.elements()));
    for (std::size_t k = 0; k < seed.size(); ++k) seed[k] = static_cast<float>(k + 1);
    ValueId flowing = b.constant(shape, seed);
    // The node itself lies between conversions of its input and of its output.
    std::vector<ValueId> seen = {output};
    for (std::size_t n = graph.node_count(); n-- > 0;) {
      const graph::Node& node = graph.node(graph::NodeId(n));
      if (node.outputs[0] != seen.back()) continue;
      graph::GradientContext context(b, node, {flowing},
                                     std::vector<bool>(node.inputs.size(), true));
      const std::size_t input = node.inputs.size() > 1 ? i : 0;
      flowing = node.op->gradient(node.attrs, context).at(input);
      seen.push_back(node.inputs[input]);
    }
    return copy.values_of(flowing);
  }
};

const Given kSix{{1, 1, 6}, {1, 2, 3, 4, 5, 6}};
const Given kTaps{{1, 1, 3}, {1, 10, 100}};

NodeGraph signal(const std::string& auto_pad, std::int64_t stride, std::int64_t dilation) {
  return {"Conv",
          {kSix, kTaps},
          {{"auto_pad", auto_pad}, {"strides", Ints{stride}}, {"dilations", Ints{dilation}}}};
}

TEST(Padding, SameUpperPutsTheOddCellAtTheEnd) {
  const NodeGraph conv = signal("SAME_UPPER", 2, 1);
  EXPECT_EQ(conv.values_of(conv.output), (Floats{321, 543, 65}));
  EXPECT_EQ(conv.gradient(0), (Floats{1, 10, 102, 20, 203, 30}));
  EXPECT_EQ(conv.gradient(1), (Floats{1 + 2 * 3 + 3 * 5, 2 + 2 * 4 + 3 * 6, 3 + 2 * 5}));
}

TEST(Padding, SameLowerPutsTheOddCellAtTheBegin) {
  const NodeGraph conv = signal("SAME_LOWER", 2, 1);
  EXPECT_EQ(conv.values_of(conv.output), (Floats{210, 432, 654}));
  EXPECT_EQ(conv.gradient(0), (Floats{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(conv.gradient(1), (Floats{2 * 2 + 3 * 4, 1 + 2 * 3 + 3 * 5, 2 + 2 * 4 + 3 * 6}));
}

TEST(Padding, ValidPadsNothing) {
  const NodeGraph conv = signal("VALID", 2, 1);
  EXPECT_EQ(conv.values_of(conv.output), (Floats{321, 543}));
  EXPECT_EQ(conv.gradient(0), (Floats{1, 10, 102, 20, 200, 0}));
  EXPECT_EQ(conv.gradient(1), (Floats{1 + 2 * 3, 2 + 2 * 4, 3 + 2 * 5}));
}

TEST(Padding, SameCountsTheDilatedKernel) {
  const NodeGraph conv = signal("SAME_UPPER", 1, 2);
  EXPECT_EQ(conv.values_of(conv.output), (Floats{310, 420, 531, 642, 53, 64}));
  EXPECT_EQ(conv.gradient(0), (Floats{13, 24, 135, 246, 350, 460}));
  EXPECT_EQ(conv.gradient(1), (Floats{50, 91, 50}));
}

TEST(Padding, SameFollowsTheLengthOfTheInput) {
  const Given seven{{1, 1, 7}, {1, 2, 3, 4, 5, 6, 7}};
  const NodeGraph conv("Conv", {seven, kTaps},
                       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}});
  EXPECT_EQ(conv.values_of(conv.output), (Floats{210, 432, 654, 76}));
}

TEST(Padding, PadsAreAllBeginsThenAllEnds) {
  const NodeGraph conv("Conv", {{{1, 1, 2, 2}, {1, 2, 3, 4}}, {{1, 1, 2, 2}, {1, 10, 100, 1000}}},
                       {{"pads", Ints{1, 0, 0, 2}}});
  EXPECT_EQ(conv.values_of(conv.output), (Floats{2100, 200, 0, 4321, 402, 0}));
  EXPECT_EQ(conv.gradient(0), (Floats{104, 1245, 400, 4500}));
  EXPECT_EQ(conv.gradient(1), (Floats{14, 8, 37, 18}));
}

TEST(Padding, NeverWinsAMaximum) {
  const NodeGraph pool("MaxPool", {{{1, 1, 2, 2}, {-1, -2, -3, -4}}},
                       {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  EXPECT_EQ(pool.values_of(pool.output), (Floats{-1, -1, -2, -1, -1, -2, -3, -3, -4}));
  EXPECT_EQ(pool.gradient(0), (Floats{1 + 2 + 4 + 5, 3 + 6, 7 + 8, 9}));
}

TEST(MaxPool, NanWinsAndTheFirstOfEqualsTakesTheGradient) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NodeGraph pool("MaxPool", {{{1, 1, 6}, {5, 5, 1, nan, 7, 8}}},
                       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  const Floats y = pool.values_of(pool.output);
  EXPECT_EQ(y[0], 5);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 8);
  EXPECT_EQ(pool.gradient(0), (Floats{1, 0, 0, 2, 0, 3}));
}

// The maxima of two planes lie in opposite corners of their windows.
TEST(MaxPool, SaysWhereItsMaximaLie) {
  const Given planes{{1, 2, 2, 4}, {9, 1, 2, 3, 4, 5, 6, 8, 1, 2, 7, 4, 3, 6, 5, 5}};
  const auto places = [&](std::int64_t storage_order) {
    const NodeGraph pool(
        "MaxPool", {planes},
        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"storage_order", storage_order}},
        2);
    return pool.values_of<std::int64_t>(pool.output);
  };
  EXPECT_EQ(places(0), (Ints{0, 7, 13, 10}));
  EXPECT_EQ(places(1), (Ints{0, 7, 8 + 3, 8 + 4}));  // row + 2 column within a plane
}

// At stride 3 the last window begins at cell 3 of 5, and its last tap sticks out.
TEST(AveragePool, CountsPaddingButNotWhatSticksOut) {
  const Given five{{1, 1, 5}, {1, 2, 3, 4, 5}};
  Attributes attributes = {{"kernel_shape", Ints{3}},
                           {"strides", Ints{2}},
                           {"pads", Ints{0, 0}},
                           {"ceil_mode", std::int64_t{1}},
                           {"count_include_pad", std::int64_t{1}}};
  const NodeGraph odd("AveragePool", {five}, attributes);
  EXPECT_EQ(odd.values_of(odd.output), (Floats{2, 4}));
  attributes.insert_or_assign("strides", Ints{3});
  const NodeGraph out("AveragePool", {five}, attributes);
  EXPECT_EQ(out.values_of(out.output), (Floats{2, 4.5}));
  attributes.insert_or_assign("pads", Ints{1, 1});
  attributes.insert_or_assign("strides", Ints{2});
  const NodeGraph padded("AveragePool", {five}, attributes);
  EXPECT_EQ(padded.values_of(padded.output), (Floats{1, 3, 3}));
  attributes.insert_or_assign("count_include_pad", std::int64_t{0});
  const NodeGraph inside("AveragePool", {five}, attributes);
  EXPECT_EQ(inside.values_of(inside.output), (Floats{1.5, 3, 4.5}));
}

TEST(Conv, NamesWhatDoesNotFit) {
  const auto message = [](const std::vector<Given>& given, const Attributes& attributes) {
    try {
      const NodeGraph conv("Conv", given, attributes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({kSix, kTaps}, {{"kernel_shape", Ints{4}}}).find("kernel_shape [4]"),
            std::string::npos);
  EXPECT_NE(message({kSix, kTaps}, {{"pads", Ints{1}}}).find("pads has 1 entries"),
            std::string::npos);
  EXPECT_NE(message({kSix, kTaps}, {{"strides", Ints{0}}}).find("strides [0]"), std::string::npos);
  EXPECT_NE(message({kSix, kTaps}, {{"auto_pad", std::string("SAME")}}).find("'SAME'"),
            std::string::npos);
  EXPECT_NE(message({kSix, kTaps}, {{"dilations", Ints{3}}}).find("extent 7"), std::string::npos);
  EXPECT_NE(message({kSix, {{1, 2, 3}, Floats(6)}}, {}).find("do not match the 1 channels"),
            std::string::npos);
}

}  // namespace
}  // namespace lowtide::ops
