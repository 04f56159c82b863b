// The zoo's networks: the sizes that the literature gives, and files that read back and run.
#include "zoo/zoo.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "onnx/input_shapes.h"
#include "onnx/read.h"
#include "onnx/write.h"
#include "ops/catalog.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace lowtide::zoo {
namespace {

using graph::Graph;
using graph::ValueId;

bool is_statistic(const std::string& name) { return name.find(".running_") != std::string::npos; }

std::int64_t trained_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    if (core::is_float(value.type.dtype) && !is_statistic(value.name)) {
      count += value.type.shape.elements();
    }
  }
  return count;
}

struct Published {
  const char* what;
  ZooSettings settings;
  std::int64_t parameters;
};

class Sizes : public testing::TestWithParam<Published> {};

TEST_P(Sizes, AreThePublishedOnes) {
  EXPECT_EQ(trained_parameters(build(GetParam().settings)), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo,
    Sizes,
    testing::Values(
        Published{"mlp",
                  {.name = "mlp", .channels = 1},
                  784 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10},
        Published{"lenet", {.name = "lenet", .channels = 1}, 61706},
        Published{"resnet18", {.name = "resnet", .depth = 18, .classes = 1000}, 11689512},
        Published{"resnet34", {.name = "resnet", .depth = 34, .classes = 1000}, 21797672},
        Published{"resnet50", {.name = "resnet", .depth = 50, .classes = 1000}, 25557032},
        // The published convolutions of VGG-16 have 14,714,688; the rest is this small head's.
        Published{"vgg16",
                  {.name = "vgg", .depth = 16, .width = 64, .size = 32},
                  14714688 + 512 * 64 + 64 + 64 * 64 + 64 + 64 * 10 + 10},
        Published{"wrn28_2", {.name = "wrn", .depth = 28, .width = 2}, 1467610}),
    [](const auto& instance) { return instance.param.what; });

TEST(Zoo, TheSeedFixesTheWeights) {
  const auto weights = [](std::uint64_t seed) {
    const Graph graph = build({.name = "lenet", .channels = 1, .seed = seed});
    return *graph::load_content(graph.value(*graph.find("conv2.weight"))).bytes;
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

// He's initialisation: variance 2 / fan-out.
TEST(Zoo, ConvolutionsStartWithTheRightSpread) {
  const Graph graph = build({.name = "wrn", .depth = 10, .width = 4});
  const auto w = support::elements<float>(
      graph::load_content(graph.value(*graph.find("group3.0.conv2.weight"))));
  double sum = 0;
  double squares = 0;
  for (const float x : w) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const auto n = static_cast<double>(w.size());
  EXPECT_NEAR(sum / n, 0, 1e-3);
  EXPECT_NEAR(squares / n, 2.0 / (256 * 9), 0.02 * 2.0 / (256 * 9));
}

void expect_refused(const ZooSettings& settings, const std::string& part) {
  try {
    build(settings);
    ADD_FAILURE() << "built";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Zoo, NetworksThatDoNotExistAreRefused) {
  for (const std::int64_t depth : {1, 9, 19, 51, 100}) {
    expect_refused({.name = "resnet", .depth = depth}, std::to_string(depth));
  }
  for (const std::int64_t depth : {4, 15, 27, 29}) {
    expect_refused({.name = "wrn", .depth = depth}, std::to_string(depth));
  }
  for (const std::int64_t depth : {12, 17}) {
    expect_refused({.name = "vgg", .depth = depth}, std::to_string(depth));
  }
  expect_refused({.name = "vgg", .size = 31}, "32");
  expect_refused({.name = "resnet", .blocks = {2, 2, 2}}, "four stages");
  expect_refused({.name = "resnet", .blocks = {2, 2, 0, 2}}, "at least one block");
  expect_refused({.name = "resnet", .depth = 50, .blocks = {2, 2, 2, 2, 2}}, "50");
  expect_refused({.name = "lenet", .size = 11}, "12");
  expect_refused({.name = "alexnet"}, "mlp, lenet, resnet, vgg, wrn");
}

TEST(Zoo, BlocksMayBeGivenInsteadOfADepth) {
  const ZooSettings by_depth{.name = "resnet", .depth = 50};
  const ZooSettings by_blocks{.name = "resnet", .blocks = {3, 4, 6, 3}};
  EXPECT_EQ(dump(build(by_depth)), dump(build(by_blocks)));
}

class Files : public testing::TestWithParam<ZooSettings> {};

// Written, read back for another batch, and run: the same numbers for each sample.
TEST_P(Files, ReadBackAndRunForAnyBatch) {
  const support::Folder folder;
  const std::string path = folder / "net.onnx";
  onnx::write_graph(build(GetParam()), path, {.output_names = {"logits"}});
  const std::vector<onnx::ValueInfo> inputs = onnx::inspect_inputs(path);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "input");
  EXPECT_FALSE(inputs[0].dims->at(0).value.has_value());

  std::vector<std::vector<float>> logits;
  for (const std::int64_t batch : {3, 1}) {
    const onnx::Model model = onnx::read(path, {.batch = batch, .catalog = ops::catalog()});
    EXPECT_EQ(model.output_names, std::vector<std::string>{"logits"});
    const ValueId input = model.graph.inputs()[0];
    const core::Shape& shape = model.graph.type(input).shape;
    EXPECT_EQ(shape[0], batch);
    const auto values = graph::interpret(
        model.graph, {{input, support::tensor(shape, support::wave<float>(shape.elements()))}}, {});
    const ValueId output = model.graph.outputs()[0];
    EXPECT_EQ(model.graph.type(output).shape, (core::Shape{batch, GetParam().classes}));
    logits.push_back(support::elements<float>(values.at(output)));
  }
  for (std::size_t i = 0; i < logits[1].size(); ++i) {
    EXPECT_TRUE(std::isfinite(logits[1][i]));
    EXPECT_NEAR(logits[0][i], logits[1][i], 1e-4F * (1 + std::abs(logits[1][i])));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoo,
    Files,
    testing::Values(ZooSettings{.name = "mlp", .width = 16, .classes = 4, .channels = 1},
                    ZooSettings{.name = "lenet", .classes = 7, .channels = 3, .size = 32},
                    ZooSettings{.name = "resnet", .depth = 10, .size = 32},
                    ZooSettings{.name = "resnet", .blocks = {1, 1, 1, 1}, .size = 32},
                    ZooSettings{.name = "vgg", .depth = 11, .width = 8, .size = 32},
                    ZooSettings{.name = "wrn", .depth = 10, .width = 1, .size = 16}),
    [](const auto& instance) { return instance.param.name + std::to_string(instance.index); });

}  // namespace
}  // namespace lowtide::zoo
