// Meanings that implementations got wrong before: each test is one public bug report's recipe.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using core::Shape;
using onnx::WireWriter;

// Parts of a batch that hold different numbers of counted labels still give the batch's mean.
TEST(Meaning, MicroBatchesWithUnequalCountsOfLabels) {
  const Scene scene;
  const std::string model = write_shift(scene, 3);
  const std::vector<float> five = {2, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0};
  const std::vector<std::int64_t> labels = {1, 1, 0, 1, 2};
  const std::string plain = write_data(scene, "x", Shape{5, 3}, five, Shape{5}, labels);
  const Words options = {"--batch", "8", "--no-shuffle", "--lr", "1", "--ignore-index", "-100"};
  const auto run = [&](const std::string& data, const std::string& micro) {
    return train(scene, Words{model, "--data", data, "--micro-batch", micro} + options);
  };
  std::vector<std::pair<std::string, Trained>> runs;
  std::vector<double> whole;
  for (const char* const micro : {"5", "1", "3", "4"}) {
    runs.emplace_back(micro, run(plain, micro));
    if (whole.empty()) whole = tensor(runs[0].second, "b");
  }
  std::vector<float> eight(9, 7.0F);
  eight.insert(eight.end(), five.begin(), five.end());
  std::vector<std::int64_t> ignored(3, -100);
  ignored.insert(ignored.end(), labels.begin(), labels.end());
  const std::string padded = write_data(scene, "x", Shape{8, 3}, eight, Shape{8}, ignored);
  for (const char* const micro : {"8", "4", "3"}) {
    runs.emplace_back(core::text("{} with ignored labels", micro), run(padded, micro));
  }
  for (const auto& [what, trained] : runs) {
    SCOPED_TRACE(what);
    EXPECT_NEAR(trained.steps.at(0).loss, 1.2890647, 1e-6);
    expect_near(tensor(trained, "b"), whole, 1e-6);
  }
}

TEST(Meaning, ClippingHappensOnceOnTheWholeGradient) {
  const Scene scene;
  const std::string model = write_shift(scene, 2);
  // Each half's own gradient of mse at y = 0 is minus its target: [3, 4] and [-3, 4].
  const std::string data = write_data(scene, "x", Shape{2, 2}, {0, 0, 0, 0}, Shape{2, 2},
                                      std::vector<float>{-3, -4, 3, -4});
  for (const char* const micro : {"1", "2"}) {
    const Trained trained = train(scene, {model, "--data", data, "--batch", "2", "--no-shuffle",
                                          "--lr", "1", "--clip-norm", "1", "--micro-batch", micro});
    EXPECT_NEAR(trained.steps.at(0).grad_norm, 4, 1e-6);
    expect_near(tensor(trained, "b"), {0, -1}, 1e-6);
  }
}

// Many gradients that are small beside the first one still add up: 1 and 512 times 2^-9.
TEST(Meaning, SmallGradientsSurviveAccumulation) {
  const Scene scene;
  const std::string model = write_shift(scene, 1);
  constexpr std::int64_t kSamples = 513;
  std::vector<float> targets(kSamples, -1.0F / 1024);
  targets[0] = -0.5F;
  const std::string data = write_data(scene, "x", Shape{kSamples, 1}, std::vector<float>(kSamples),
                                      Shape{kSamples, 1}, targets);
  for (const char* const micro : {"1", "513"}) {
    const Trained trained = train(scene, {model, "--data", data, "--batch", "513", "--no-shuffle",
                                          "--train", "b", "--lr", "513", "--micro-batch", micro});
    expect_near(tensor(trained, "b"), {-2}, 1e-5);
  }
}

// The sibling without micro-batches: a bias's gradient over rows that float32 alone would lose.
TEST(Meaning, SmallGradientsSurviveTheSumOverRows) {
  const Scene scene;
  const std::string model = write_shift(scene, 3);
  constexpr std::int64_t kRows = 4097;
  std::vector<float> targets(3 * kRows, -std::ldexp(1.5F, -24));
  std::fill_n(targets.begin(), 3, -1.5F);
  const std::string data = write_data(scene, "x", Shape{kRows, 3}, std::vector<float>(3 * kRows),
                                      Shape{kRows, 3}, targets);
  // Each row's share of the gradient of mse is 2 (y - t) / (3 * 4097): 1 / 4097 and 2^-24 / 4097.
  const Trained trained = train(scene, {model, "--data", data, "--batch", "4097", "--no-shuffle",
                                        "--steps", "1", "--lr", "4097"});
  expect_near(tensor(trained, "b"), std::vector<double>(3, -1 - std::ldexp(1.0, -12)), 1e-6);
}

// x -> four blocks of Gemm, Dropout, Relu -> Gemm.
std::string write_dropout_network(const Scene& scene) {
  toy::Parts parts{.inputs = {toy::value_info("input", {"batch", "16"})},
                   .outputs = {toy::value_info("logits", {"batch", "3"})}};
  std::string x = "input";
  std::int64_t width = 16;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    const std::int64_t next = i == 4 ? 3 : 64;
    std::vector<float> elements(static_cast<std::size_t>(width * next));
    for (std::size_t k = 0; k < elements.size(); ++k) {
      elements[k] = 0.2F * std::sin(static_cast<float>(k * (k + 1) % 1009 + 17 * (i + 1)));
    }
    parts.initializers.push_back(weight("w" + n, {width, next}, elements));
    const std::string y = i == 4 ? "logits" : "h" + n;
    parts.nodes.push_back(toy::node("MatMul", {x, "w" + n}, {y}, {}, "product" + n));
    if (i < 4) {
      parts.nodes.push_back(toy::node("Dropout", {y}, {"d" + n}, {}, "drop" + n));
      parts.nodes.push_back(toy::node("Relu", {"d" + n}, {"r" + n}, {}, "relu" + n));
      x = "r" + n;
    }
    width = next;
  }
  return write_model(scene, parts);
}

class DropoutRuns : public testing::Test {
 protected:
  [[nodiscard]] Trained run(const Words& options) const {
    return train(
        scene,
        Words{model, "--data", data, "--batch", "12", "--steps", "20", "--lr", "0.05"} + options);
  }

  Scene scene;
  std::string model = write_dropout_network(scene);
  std::string data = scene.images();
};

TEST_F(DropoutRuns, RecomputedMasksAreTheSame) {
  const Trained kept = run({"--policy", "keep"});
  EXPECT_EQ(kept.result.at("plan").at("recomputed").get<int>(), 0);
  const Trained recomputed =
      run({"--policy", "chen", "--budget",
           std::to_string(smallest_budget({model, "--data", data, "--batch", "12", "--policy",
                                           "chen", "--micro-batch", "12"})),
           "--micro-batch", "12"});
  EXPECT_GT(recomputed.result.at("plan").at("recomputed").get<int>(), 0);
  EXPECT_TRUE(recomputed.bytes == kept.bytes);
}

TEST_F(DropoutRuns, MasksDependOnTheSeedOnly) {
  const Trained one = run({"--threads", "1"});
  for (const Words& options :
       {Words{"--threads", "2"}, Words{"--micro-batch", "5"}, Words{"--micro-batch", "1"}}) {
    const Trained other = run(options);
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(other.steps[i].loss, one.steps[i].loss, 1e-4) << options[0] << " step " << i;
    }
  }
  // Other masks move the loss by far more than that, in the first step already.
  const Trained seeded = run({"--seed", "9", "--no-shuffle"});
  const Trained ordered = run({"--no-shuffle"});
  EXPECT_GT(std::abs(seeded.steps[0].loss - ordered.steps[0].loss), 1e-3);
}

TEST_F(DropoutRuns, InferenceDropsNothing) {
  support::write_npy(scene / "x.npy", Shape{1, 16}, std::vector<float>(16, 1.0F));
  const auto first = infer(scene, model, {"input=" + (scene / "x.npy")});
  const Json evaluated =
      Json::parse(lowtide({"eval", model, "--data", data, "--batch", "6", "--json"}).out);
  const Json again =
      Json::parse(lowtide({"eval", model, "--data", data, "--batch", "24", "--json"}).out);
  EXPECT_NEAR(evaluated.at("loss").get<double>(), again.at("loss").get<double>(), 1e-6);
  for (const double x : first.at("logits").values) EXPECT_TRUE(std::isfinite(x));
}

// A table that is read twice is one parameter with the sum of both gradients.
TEST(Meaning, ASharedTableIsOneParameter) {
  const Scene scene;
  const std::string model = write_model(
      scene, {.nodes = {toy::node("Gather", {"table", "ids"}, {"rows"}, {}, "look"),
                        toy::node("Transpose", {"table"}, {"turned"}, {}, "turn"),
                        toy::node("MatMul", {"rows", "turned"}, {"logits"}, {}, "head")},
              .initializers = {weight("table", {3, 2}, {1, 2, 3, 4, 5, 6})},
              .inputs = {toy::value_info("ids", {"batch"}, 7)},
              .outputs = {toy::value_info("logits", {"batch", "3"})}});
  // Targets that make the gradient of mse, 2 (y - t) / 6, equal to [[1, 0, 0], [0, 1, 0]].
  const std::string data = scene / "data.npz";
  {
    data::NpzWriter writer(data);
    support::add_array(writer, "ids", Shape{2}, std::vector<std::int64_t>{0, 2});
    support::add_array(writer, "label", Shape{2, 3}, std::vector<float>{2, 11, 17, 17, 36, 61});
    writer.finish();
  }
  const Words run = {model, "--data", data, "--batch", "2", "--no-shuffle", "--lr", "1"};
  for (const Words& options : {Words{}, Words{"--policy", "chen"}, Words{"--micro-batch", "1"}}) {
    const Trained trained = train(scene, run + options);
    EXPECT_NEAR(trained.steps.at(0).grad_norm, 10.29563, 1e-5);
    expect_near(tensor(trained, "table"), {-1, -2, -2, -2, 2, 2}, 1e-5);
    EXPECT_EQ(onnx::parse_file(trained.model).graph.initializers.size(), 1U);
  }
  const Json planned = plan(run + Words{"--optimizer", "adam"});
  const std::int64_t once = planned.at("spent").at("parameters");
  EXPECT_EQ(once, 64);  // 24 bytes, aligned
  EXPECT_EQ(planned.at("spent").at("optimizer state").get<std::int64_t>(), 2 * once);
}

std::vector<double> convolve(const std::vector<std::int64_t>& x_dims,
                             const std::vector<float>& x,
                             const std::vector<std::int64_t>& w_dims,
                             const std::vector<float>& w,
                             const std::vector<WireWriter>& attributes) {
  const Scene scene;
  toy::Dims dims;
  for (const std::int64_t dim : x_dims) dims.push_back(std::to_string(dim));
  const toy::Dims free(dims.size(), "");
  const std::string model =
      write_model(scene, {.nodes = {toy::node("Conv", {"x", "w"}, {"y"}, attributes, "conv")},
                          .initializers = {weight("w", w_dims, w)},
                          .inputs = {toy::value_info("x", dims)},
                          .outputs = {toy::value_info("y", free)}});
  support::write_npy(scene / "x.npy", Shape(x_dims), x);
  return infer(scene, model, {"x=" + (scene / "x.npy")}).at("y").values;
}

TEST(Meaning, PaddingOfConvolutions) {
  const std::vector<float> line = {1, 2, 3, 4, 5, 6};
  const auto strided = [&](const char* rule) {
    return convolve({1, 1, 6}, line, {1, 1, 3}, {1, 10, 100},
                    {text_attribute("auto_pad", rule), list_attribute("strides", {2})});
  };
  EXPECT_EQ(strided("SAME_UPPER"), (std::vector<double>{321, 543, 65}));
  EXPECT_EQ(strided("SAME_LOWER"), (std::vector<double>{210, 432, 654}));
  EXPECT_EQ(strided("VALID"), (std::vector<double>{321, 543}));
  EXPECT_EQ(convolve({1, 1, 6}, line, {1, 1, 3}, {1, 10, 100},
                     {text_attribute("auto_pad", "SAME_UPPER"), list_attribute("dilations", {2})}),
            (std::vector<double>{310, 420, 531, 642, 53, 64}));
  EXPECT_EQ(convolve({1, 1, 2, 2}, {1, 2, 3, 4}, {1, 1, 2, 2}, {1, 10, 100, 1000},
                     {list_attribute("pads", {1, 0, 0, 2})}),
            (std::vector<double>{2100, 200, 0, 4321, 402, 0}));
}

// The gradient of the kernel follows the same pads: one step under a gradient of ones.
TEST(Meaning, PaddingOfConvolutionsHasItsGradient) {
  struct Case {
    std::vector<WireWriter> attributes;
    std::vector<float> y;
    std::vector<double> gradient;
  };
  const auto strided = [](const char* rule) {
    return std::vector<WireWriter>{text_attribute("auto_pad", rule),
                                   list_attribute("strides", {2})};
  };
  const Case cases[] = {
      {strided("SAME_UPPER"), {321, 543, 65}, {9, 12, 8}},
      {strided("SAME_LOWER"), {210, 432, 654}, {6, 9, 12}},
      {strided("VALID"), {321, 543}, {4, 6, 8}},
      {{text_attribute("auto_pad", "SAME_UPPER"), list_attribute("dilations", {2})},
       {310, 420, 531, 642, 53, 64},
       {10, 21, 18}},
  };
  for (const Case& each : cases) {
    const Scene scene;
    const auto width = static_cast<std::int64_t>(each.y.size());
    const std::string model = write_model(
        scene, {.nodes = {toy::node("Conv", {"x", "w"}, {"y"}, each.attributes, "conv")},
                .initializers = {weight("w", {1, 1, 3}, {1, 10, 100})},
                .inputs = {toy::value_info("x", {"1", "1", "6"})},
                .outputs = {toy::value_info("y", {"1", "1", ""})}});
    std::vector<float> targets = each.y;
    for (float& target : targets) target -= 0.5F * static_cast<float>(width);
    const std::string data =
        write_data(scene, "x", Shape{1, 1, 6}, {1, 2, 3, 4, 5, 6}, Shape{1, 1, width}, targets);
    const Trained trained = train(scene, {model, "--data", data, "--lr", "1"});
    expect_near(tensor(trained, "w"),
                {1 - each.gradient[0], 10 - each.gradient[1], 100 - each.gradient[2]}, 1e-4);
  }
}

// One file, inputs of other lengths: the pads follow.
TEST(Meaning, PaddingFollowsTheLengthOfTheInput) {
  const Scene scene;
  const std::string model = write_model(
      scene,
      {.nodes = {toy::node(
           "Conv", {"x", "w"}, {"y"},
           {text_attribute("auto_pad", "SAME_UPPER"), list_attribute("strides", {2})}, "conv")},
       .initializers = {weight("w", {1, 1, 3}, {1, 10, 100})},
       .inputs = {toy::value_info("x", {"1", "1", "length"})},
       .outputs = {toy::value_info("y", {"1", "1", "out"})}});
  const auto run = [&](const std::vector<float>& x) {
    support::write_npy(scene / "x.npy", Shape{1, 1, static_cast<std::int64_t>(x.size())}, x);
    return infer(scene, model, {"x=" + (scene / "x.npy")}).at("y").values;
  };
  EXPECT_EQ(run({1, 2, 3, 4, 5, 6}), (std::vector<double>{321, 543, 65}));
  EXPECT_EQ(run({1, 2, 3, 4, 5, 6, 7}), (std::vector<double>{210, 432, 654, 76}));
}

// Padding is no element: it neither wins a maximum nor, unless asked to, counts in a mean.
TEST(Meaning, PaddingOfPoolsIsNoElement) {
  const auto pool = [](const std::string& op, std::vector<WireWriter> attributes) {
    const Scene scene;
    attributes.push_back(list_attribute("kernel_shape", {2, 2}));
    attributes.push_back(list_attribute("pads", {1, 1, 1, 1}));
    const std::string model =
        write_model(scene, {.nodes = {toy::node(op, {"x"}, {"y"}, attributes, "pool")},
                            .inputs = {toy::value_info("x", {"1", "1", "2", "2"})},
                            .outputs = {toy::value_info("y", {"1", "1", "3", "3"})}});
    support::write_npy(scene / "x.npy", Shape{1, 1, 2, 2}, std::vector<float>{-1, -2, -3, -4});
    return infer(scene, model, {"x=" + (scene / "x.npy")}).at("y").values;
  };
  EXPECT_EQ(pool("MaxPool", {}), (std::vector<double>{-1, -1, -2, -1, -1, -2, -3, -3, -4}));
  EXPECT_EQ(pool("AveragePool", {}),
            (std::vector<double>{-1, -1.5, -2, -2, -2.5, -3, -3, -3.5, -4}));
  EXPECT_EQ(pool("AveragePool", {toy::int_attribute("count_include_pad", 1)}),
            (std::vector<double>{-.25, -.75, -.5, -1, -2.5, -1.5, -.75, -1.75, -1}));
}

// The first four elements of what the op makes of ln 1 to ln 8.
std::vector<double> normalised(const std::string& op,
                               std::int64_t opset,
                               const std::vector<WireWriter>& attributes) {
  const Scene scene;
  const std::string model =
      write_model(scene, {.nodes = {toy::node(op, {"x"}, {"y"}, attributes, "node")},
                          .inputs = {toy::value_info("x", {"2", "2", "2"})},
                          .outputs = {toy::value_info("y", {"2", "2", "2"})},
                          .ir_version = 6,
                          .opset = opset});
  std::vector<float> x;
  for (int i = 1; i <= 8; ++i) x.push_back(std::log(static_cast<float>(i)));
  support::write_npy(scene / "x.npy", Shape{2, 2, 2}, x);
  std::vector<double> y = infer(scene, model, {"x=" + (scene / "x.npy")}).at("y").values;
  y.resize(4);
  return y;
}

TEST(Meaning, SoftmaxBeforeAndSinceOpset13) {
  const std::vector<WireWriter> middle = {toy::int_attribute("axis", 1)};
  const std::vector<double> flattened = {.1, .2, .3, .4};
  const std::vector<double> last = {1.0 / 3, 2.0 / 3, 3.0 / 7, 4.0 / 7};
  const std::vector<double> along = {.25, 1.0 / 3, .75, 2.0 / 3};
  const auto logarithms = [](std::vector<double> shares) {
    for (double& share : shares) share = std::log(share);
    return shares;
  };
  for (const auto& [opset, attributes, wanted] :
       {std::tuple{11, std::vector<WireWriter>(), flattened}, std::tuple{11, middle, flattened},
        std::tuple{13, std::vector<WireWriter>(), last}, std::tuple{13, middle, along}}) {
    SCOPED_TRACE(opset);
    expect_near(normalised("Softmax", opset, attributes), wanted, 1e-6);
    expect_near(normalised("LogSoftmax", opset, attributes), logarithms(wanted), 1e-6);
  }
  expect_near(normalised("Hardmax", 11, {}), {0, 0, 0, 1}, 0);
  expect_near(normalised("Hardmax", 13, {}), {0, 1, 0, 1}, 0);
  expect_near(normalised("Hardmax", 13, middle), {0, 0, 1, 1}, 0);
}

// The gradient follows the old meaning too: all four of a sample are one distribution.
TEST(Meaning, SoftmaxBeforeOpset13HasItsGradient) {
  for (const std::int64_t opset : {11, 13}) {
    const Scene scene;
    const std::string model =
        write_model(scene, {.nodes = {toy::node("Add", {"x", "b"}, {"z"}, {}, "shift"),
                                      toy::node("Softmax", {"z"}, {"y"}, {}, "softmax")},
                            .initializers = {weight("b", {2, 2}, {0, 0, 0, 0})},
                            .inputs = {toy::value_info("x", {"1", "2", "2"})},
                            .outputs = {toy::value_info("y", {"1", "2", "2"})},
                            .ir_version = 6,
                            .opset = opset});
    const std::vector<float> x = {0, std::log(2.0F), std::log(3.0F), std::log(4.0F)};
    // A target 2 below y's first makes the gradient of mse, 2 (y - t) / 4, pick it.
    const double y0 = opset == 11 ? .1 : 1.0 / 3;
    const std::vector<double> y = opset == 11
                                      ? std::vector<double>{.1, .2, .3, .4}
                                      : std::vector<double>{1.0 / 3, 2.0 / 3, 3.0 / 7, 4.0 / 7};
    std::vector<float> target(y.begin(), y.end());
    target[0] -= 2;
    const std::string data = write_data(scene, "x", Shape{1, 2, 2}, x, Shape{1, 2, 2}, target);
    const Trained trained = train(scene, {model, "--data", data, "--loss", "mse", "--lr", "1"});
    std::vector<double> wanted;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool together = opset == 11 || i < 2;
      wanted.push_back(together ? y0 * y[i] - (i == 0 ? y0 : 0) : 0);
    }
    expect_near(tensor(trained, "b"), wanted, 1e-6);
  }
}

// A model that ends in a softmax trains like the one without it, and says so.
TEST(Meaning, ASoftmaxAtTheEndBelongsToTheLoss) {
  const Scene scene;
  const std::string data = scene.images();
  std::vector<float> w(48);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.1F * static_cast<float>(i % 7) - 0.3F;
  const auto run = [&](bool with_softmax) {
    std::vector<WireWriter> nodes = {toy::node("MatMul", {"input", "w"}, {"z"}, {}, "product")};
    if (with_softmax) nodes.push_back(toy::node("Softmax", {"z"}, {"p"}, {}, "softmax"));
    const std::string model = write_model(
        scene, {.nodes = nodes,
                .initializers = {weight("w", {16, 3}, w)},
                .inputs = {toy::value_info("input", {"batch", "16"})},
                .outputs = {toy::value_info(with_softmax ? "p" : "z", {"batch", "3"})}});
    return train(scene, {model, "--data", data, "--batch", "8", "--lr", "0.1"});
  };
  const Trained plain = run(false);
  const Trained fused = run(true);
  EXPECT_EQ(tensor(fused, "w"), tensor(plain, "w"));
  EXPECT_NE(fused.result.at("notes").dump().find("softmax"), std::string::npos);
}

// Ties go to the even neighbour, and the zero point is added after that.
TEST(Meaning, QuantizingRoundsTiesToEvenAndSaturates) {
  const Scene scene;
  const std::vector<float> x = {.5, 1.5, 2.5, -.5, -1.5, -2.5, 127.5, -128.5, 300, -300};
  support::write_npy(scene / "x.npy", Shape{10}, x);
  const auto quantized = [&](std::int64_t type, std::int64_t zero) {
    WireWriter point;
    point.integer(2, type).text(8, "zero").text(9, std::string(1, static_cast<char>(zero)));
    const std::string model = write_model(
        scene,
        {.nodes = {toy::node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}, {}, "quantize"),
                   toy::node("Cast", {"q"}, {"y"}, {toy::int_attribute("to", 1)}, "cast")},
         .initializers = {weight("scale", {}, {1}), point},
         .inputs = {toy::value_info("x", {"10"})},
         .outputs = {toy::value_info("y", {"10"})}});
    return infer(scene, model, {"x=" + (scene / "x.npy")}).at("y").values;
  };
  EXPECT_EQ(quantized(3, 0), (std::vector<double>{0, 2, 2, 0, -2, -2, 127, -128, 127, -128}));
  EXPECT_EQ(quantized(2, 1), (std::vector<double>{1, 3, 3, 1, 0, 0, 129, 0, 255, 0}));
  support::write_npy(scene / "d.npy", Shape{3}, std::vector<float>{-127, 128, .5});
  const std::string dynamic = write_model(
      scene, {.nodes = {toy::node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"}, {}, "dynamic"),
                        toy::node("Cast", {"q"}, {"y"}, {toy::int_attribute("to", 1)}, "cast")},
              .inputs = {toy::value_info("x", {"3"})},
              .outputs = {toy::value_info("y", {"3"})}});
  EXPECT_EQ(infer(scene, dynamic, {"x=" + (scene / "d.npy")}).at("y").values,
            (std::vector<double>{0, 255, 127}));
}

// Old files list every initializer among the inputs: data is fed to the others only.
TEST(Meaning, InitializersThatAreInputsAreNoData) {
  for (const std::int64_t ir_version : {3, 8}) {
    SCOPED_TRACE(ir_version);
    const Scene scene;
    const std::string model = write_model(
        scene, {.nodes = {toy::node("Mul", {"x", "w"}, {"y"}, {}, "scale")},
                .initializers = {weight("w", {1}, {2})},
                .inputs = {toy::value_info("x", {"batch", "1"}), toy::value_info("w", {"1"})},
                .outputs = {toy::value_info("y", {"batch", "1"})},
                .ir_version = ir_version,
                .opset = 11});
    const Json inspected = Json::parse(lowtide({"inspect", model, "--json"}).out);
    EXPECT_EQ(inspected.at("inputs").dump(), R"(["x: float32[batch, 1]"])");
    support::write_npy(scene / "x.npy", Shape{1, 1}, std::vector<float>{3});
    const std::string x = "x=" + (scene / "x.npy");
    EXPECT_EQ(infer(scene, model, {x}).at("y").values, std::vector<double>{6});
    support::write_npy(scene / "w.npy", Shape{1}, std::vector<float>{5});
    expect_refused(scene, {"run", model, "--input", x, "--input", "w=" + (scene / "w.npy")},
                   {"'w'"});
    // d/dw of (3 w - 0)^2 is 18 w = 36.
    const std::string data =
        write_data(scene, "x", Shape{1, 1}, {3}, Shape{1, 1}, std::vector<float>{0});
    const Trained trained = train(scene, {model, "--data", data, "--train", "w", "--lr", "0.01"});
    expect_near(tensor(trained, "w"), {2 - 0.36}, 1e-6);
    // The file keeps its style.
    EXPECT_EQ(onnx::parse_file(trained.model).graph.inputs.size(), 2U);
  }
}

// An output may be what an input was, whether or not anything else is computed.
TEST(Meaning, InputsMayBeOutputs) {
  const Scene scene;
  support::write_npy(scene / "x.npy", Shape{2, 2}, std::vector<float>{1, -2, 3, -4});
  const std::vector<std::string> x = {"x=" + (scene / "x.npy")};
  const std::vector<WireWriter> io = {toy::value_info("x", {"2", "2"})};
  const std::vector<double> same = {1, -2, 3, -4};
  const toy::Parts copy{.nodes = {toy::node("Identity", {"x"}, {"y"}, {}, "copy")},
                        .inputs = io,
                        .outputs = {toy::value_info("y", {"2", "2"})}};
  EXPECT_EQ(infer(scene, write_model(scene, copy), x).at("y").values, same);
  toy::Parts view = copy;
  view.nodes = {toy::node("Flatten", {"x"}, {"y"}, {toy::int_attribute("axis", 0)}, "flatten")};
  view.outputs = {toy::value_info("y", {"1", "4"})};
  EXPECT_EQ(infer(scene, write_model(scene, view), x).at("y").values, same);
  toy::Parts both = copy;
  both.nodes = {toy::node("Relu", {"x"}, {"y"}, {}, "rectify")};
  both.inputs.push_back(toy::value_info("z", {"2", "2"}));
  both.outputs.push_back(toy::value_info("z", {"2", "2"}));
  const auto found = infer(scene, write_model(scene, both), {x[0], "z=" + (scene / "x.npy")});
  EXPECT_EQ(found.at("y").values, (std::vector<double>{1, 0, 3, 0}));
  EXPECT_EQ(found.at("z").values, same);
}

}  // namespace
}  // namespace lowtide::e2e
