// The zoo's networks: the sizes that the literature gives, and files that read back and run.
#include "zoo/zoo.h"

#include <algorithm>
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
#include "zoo/small_networks.h"

namespace lowtide::zoo {
namespace {

using graph::Graph;
using graph::ValueId;

struct Published {
  const char* what;
  ZooSettings settings;
  std::int64_t parameters;
};

class Sizes : public testing::TestWithParam<Published> {};

TEST_P(Sizes, AreThePublishedOnes) {
  EXPECT_EQ(parameters(build(GetParam().settings)), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo,
    Sizes,
    testing::Values(
        Published{"mlp",
                  {.name = "mlp", .channels = 1},
                  784 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10},
        Published{"lenet", {.name = "lenet", .channels = 1}, 61706},
        Published{"alexnet", {.name = "alexnet"}, 61100840},
        Published{"unet", {.name = "unet"}, 31037698},
        Published{"vgg11", {.name = "vgg", .depth = 11}, 132863336},
        Published{"vgg13", {.name = "vgg", .depth = 13}, 133047848},
        Published{"vgg16", {.name = "vgg"}, 138357544},
        Published{"vgg19", {.name = "vgg", .depth = 19}, 143667240},
        Published{"vgg16_bn", {.name = "vgg", .batch_norm = true}, 138365992},
        Published{"resnet18", {.name = "resnet", .depth = 18}, 11689512},
        Published{"resnet34", {.name = "resnet", .depth = 34}, 21797672},
        Published{"resnet50", {.name = "resnet"}, 25557032},
        Published{"resnet101", {.name = "resnet", .depth = 101}, 44549160},
        Published{"resnet152", {.name = "resnet", .depth = 152}, 60192808},
        Published{"resnext50_32x4d", {.name = "resnet", .groups = 32, .group_width = 4}, 25028904},
        Published{"resnext101_32x8d",
                  {.name = "resnet", .depth = 101, .groups = 32, .group_width = 8},
                  88791336},
        Published{"wide_resnet50_2", {.name = "resnet", .group_width = 128}, 68883240},
        Published{"wrn28_2", {.name = "wrn", .depth = 28, .width = 2}, 1467610},
        Published{"wrn28_10", {.name = "wrn", .depth = 28, .width = 10}, 36479194},
        Published{"densenet121", {.name = "densenet"}, 7978856},
        Published{"densenet161", {.name = "densenet", .depth = 161, .growth = 48}, 28681000},
        Published{"densenet169", {.name = "densenet", .depth = 169}, 14149480},
        Published{"densenet201", {.name = "densenet", .depth = 201}, 20013928},
        Published{"inception_v4", {.name = "inception"}, 42679816},
        Published{"mobilenet_v2", {.name = "mobilenet"}, 3504872},
        Published{"gpt2", {.name = "gpt2"}, 124439808},
        Published{"gpt2_medium", {.name = "gpt2", .depth = 24, .width = 1024}, 354823168},
        Published{"bert_base", {.name = "bert"}, 109483778},
        Published{"vit_b_16", {.name = "vit"}, 86567656},
        Published{"vit_l_16", {.name = "vit", .depth = 24, .width = 1024}, 304326632},
        Published{"vit_b_32", {.name = "vit", .patch = 32}, 88224232}),
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
  for (const std::int64_t depth : {1, 8, 9, 19, 51, 100}) {
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
  expect_refused({.name = "resnet", .depth = 50, .block = "round"}, "round");
  expect_refused({.name = "resnet", .depth = 18, .groups = 32}, "bottleneck");
  expect_refused({.name = "densenet", .depth = 120}, "120");
  expect_refused({.name = "densenet", .depth = 121, .blocks = {1, 2}}, "121");
  expect_refused({.name = "densenet", .size = 31}, "32");
  expect_refused({.name = "inception", .blocks = {1, 2}}, "three");
  expect_refused({.name = "inception", .size = 74}, "75");
  expect_refused({.name = "gpt2", .width = 100, .heads = 3}, "3 heads");
  expect_refused({.name = "vit", .patch = 15}, "15");
  expect_refused({.name = "mlp", .width = -1}, "width is -1");
  expect_refused({.name = "transformer"}, "mlp, lenet, alexnet, vgg");
}

// What a network does not take is not silently dropped.
TEST(Zoo, OptionsOfOtherNetworksAreRefused) {
  expect_refused({.name = "lenet", .depth = 5}, "lenet has no depth; it takes classes");
  expect_refused({.name = "resnet", .heads = 2}, "resnet has no heads");
  expect_refused({.name = "gpt2", .classes = 10}, "gpt2 has no classes");
  expect_refused({.name = "resnet", .batch_norm = true}, "resnet has no batch-norm");
}

TEST(Zoo, TheListHasEveryNetworkWithItsUsualValues) {
  const std::vector<ZooNetwork> all = networks();
  ASSERT_EQ(all.size(), names().size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].name, names()[i]);
  const auto vit =
      std::find_if(all.begin(), all.end(), [](const auto& n) { return n.name == "vit"; });
  EXPECT_EQ(vit->parameters, 86567656);
  EXPECT_EQ(vit->options.at(2).name, "heads");
  EXPECT_EQ(vit->options.at(2).usual, "width / 64");
  EXPECT_EQ(vit->options.at(3).name, "patch");
  EXPECT_EQ(vit->options.at(3).usual, "16");
}

// 832 blocks of three convolutions: no memory for weights, and no time that grows with the square.
TEST(Zoo, ADeepNetworkIsBuiltAtOnce) {
  const Graph graph = build({.name = "resnet", .blocks = {6, 32, 788, 6}});
  EXPECT_EQ(parameters(graph), 920635688);
}

TEST(Zoo, BlocksMayBeGivenInsteadOfADepth) {
  const ZooSettings by_depth{.name = "resnet", .depth = 50};
  const ZooSettings by_blocks{.name = "resnet", .blocks = {3, 4, 6, 3}};
  EXPECT_EQ(dump(build(by_depth)), dump(build(by_blocks)));
  const ZooSettings basic{.name = "resnet", .depth = 34};
  const ZooSettings basic_blocks{.name = "resnet", .blocks = {3, 4, 6, 3}, .block = "basic"};
  EXPECT_EQ(dump(build(basic)), dump(build(basic_blocks)));
}

class Files : public testing::TestWithParam<ZooSettings> {
 protected:
  // The first sample is the same for every batch.
  static graph::ConstantTensor fresh_input(const core::TensorType& type) {
    const std::int64_t elements = type.shape.elements();
    if (type.dtype == core::DType::kFloat32) {
      return support::tensor(type.shape, support::wave<float>(elements));
    }
    std::vector<std::int64_t> tokens;
    for (std::int64_t i = 0; i < elements; ++i) tokens.push_back(i % GetParam().vocabulary);
    return support::tensor(type.shape, tokens);
  }
};

// Written, read back for another batch, and run: the same numbers for each sample.
TEST_P(Files, ReadBackAndRunForAnyBatch) {
  const support::Folder folder;
  const std::string path = folder / "net.onnx";
  const Graph built = build(GetParam());
  onnx::write_graph(built, path, {.output_names = {"logits"}});
  const std::vector<onnx::ValueInfo> inputs = onnx::inspect_inputs(path);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "input");
  EXPECT_FALSE(inputs[0].dims->at(0).value.has_value());

  std::vector<std::vector<float>> logits;
  for (const std::int64_t batch : {3, 1}) {
    const onnx::Model model = onnx::read(path, {.batch = batch, .catalog = ops::catalog()});
    EXPECT_EQ(model.output_names, std::vector<std::string>{"logits"});
    const ValueId input = model.graph.inputs()[0];
    const ValueId output = model.graph.outputs()[0];
    EXPECT_EQ(model.graph.type(input).shape[0], batch);
    EXPECT_EQ(model.graph.type(output).shape, built.type(built.outputs()[0]).shape.with(0, batch));
    const auto values =
        graph::interpret(model.graph, {{input, fresh_input(model.graph.type(input))}}, {});
    logits.push_back(support::elements<float>(values.at(output)));
  }
  for (std::size_t i = 0; i < logits[1].size(); ++i) {
    EXPECT_TRUE(std::isfinite(logits[1][i]));
    EXPECT_NEAR(logits[0][i], logits[1][i], 1e-4F * (1 + std::abs(logits[1][i])));
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Files, testing::ValuesIn(small_networks()), small_network_name);

}  // namespace
}  // namespace lowtide::zoo
