// Twin runs: a network of ops that keep something aside for backward gives the same bits whatever
// the memory features, the threads that load, and the moment at which it is stopped.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"
#include "support/pictures.h"

namespace lowtide::e2e {
namespace {

using core::Shape;

std::vector<float> waves(std::int64_t count, float scale, int seed) {
  std::vector<float> elements;
  for (std::int64_t k = 0; k < count; ++k) {
    elements.push_back(scale * std::sin(static_cast<float>((k * (k + 3) + seed) % 997)));
  }
  return elements;
}

// Conv, BatchNormalization, Relu, MaxPool, Dropout, LayerNormalization, Gelu's parts and Gemm: the
// masks, indices, means and inverse deviations of all of them. [batch, 3, 8, 8] -> [batch, 3].
std::string write_keepsakes(const Scene& scene, bool batch_norm = true) {
  const auto ones = [](std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count), 1.0F);
  };
  const auto zeros = [](std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count), 0.0F);
  };
  toy::Parts parts{.inputs = {toy::value_info("input", {"batch", "3", "8", "8"})},
                   .outputs = {toy::value_info("logits", {"batch", "3"})}};
  const auto add = [&](const std::string& type, const Words& inputs, const std::string& output,
                       const std::vector<onnx::WireWriter>& attributes = {}) {
    parts.nodes.push_back(toy::node(type, inputs, {output}, attributes, type + "_" + output));
  };
  const std::vector<onnx::WireWriter> same = {list_attribute("pads", {1, 1, 1, 1})};
  const std::vector<onnx::WireWriter> halve = {list_attribute("kernel_shape", {2, 2}),
                                               list_attribute("strides", {2, 2})};
  std::string x = "input";
  for (int block = 0; block < 3; ++block) {
    const std::string n = std::to_string(block);
    const std::int64_t channels = block == 0 ? 3 : 6;
    parts.initializers.push_back(
        weight("w" + n, {6, channels, 3, 3}, waves(54 * channels, 0.3F, block)));
    add("Conv", {x, "w" + n}, "c" + n, same);
    x = "c" + n;
    if (batch_norm) {
      parts.initializers.push_back(weight("scale" + n, {6}, ones(6)));
      parts.initializers.push_back(weight("bias" + n, {6}, zeros(6)));
      parts.initializers.push_back(weight("mean" + n, {6}, zeros(6)));
      parts.initializers.push_back(weight("variance" + n, {6}, ones(6)));
      add("BatchNormalization", {x, "scale" + n, "bias" + n, "mean" + n, "variance" + n}, "n" + n);
      x = "n" + n;
    }
    add("Relu", {x}, "r" + n);
    add("Dropout", {"r" + n}, "d" + n);
    x = "d" + n;
    if (block < 2) {
      add("MaxPool", {x}, "p" + n, halve);
      x = "p" + n;
    }
  }
  add("Flatten", {x}, "flat");
  parts.initializers.push_back(weight("ln_scale", {24}, ones(24)));
  parts.initializers.push_back(weight("ln_bias", {24}, zeros(24)));
  add("LayerNormalization", {"flat", "ln_scale", "ln_bias"}, "normal");
  parts.initializers.push_back(weight("head", {24, 3}, waves(72, 0.2F, 9)));
  add("MatMul", {"normal", "head"}, "logits");
  return write_model(scene, parts);
}

class Twins : public testing::Test {
 protected:
  // Twenty steps with that; all state is in the checkpoint.
  [[nodiscard]] std::string state_after(const Words& options) const {
    const std::string ck = scene / "twin.safetensors";
    std::filesystem::remove(ck);
    std::filesystem::remove(ck + ".1");
    const Words run = {model,  "--data",
                       data,   "--batch",
                       "6",    "--steps",
                       "20",   "--lr",
                       "0.02", "--momentum",
                       "0.9",  "--checkpoint",
                       ck,     "--checkpoint-every",
                       "20"};
    last = train(scene, run + options);
    return support::read_file(ck);
  }

  [[nodiscard]] std::int64_t smallest(const Words& options) const {
    return smallest_budget(Words{model, "--data", data, "--batch", "6", "--momentum", "0.9",
                                 "--checkpoint", scene / "none"} +
                           options);
  }

  Scene scene;
  std::string model = write_keepsakes(scene);
  std::string data = scene.images({.samples = 40, .channels = 3, .size = 8});
  support::Folder disk;
  mutable Trained last;
};

TEST_F(Twins, RecomputingSpillingAndTightBudgetsGiveTheSameBits) {
  const std::string kept = state_after({"--policy", "keep"});
  EXPECT_EQ(last.result.at("plan").at("recomputed"), 0);
  for (const char* const policy : {"chen", "dtr", "lowtide", "superneurons"}) {
    SCOPED_TRACE(policy);
    const Words here = {"--policy", policy};
    const std::string budget = std::to_string(smallest(here));
    EXPECT_TRUE(state_after(here + Words{"--budget", budget}) == kept);
    if (std::string(policy) == "chen") {
      EXPECT_GT(last.result.at("plan").at("recomputed"), 0);
    }
  }
  const Words spilled = {"--policy", "keep", "--spill", disk.path().string()};
  EXPECT_TRUE(state_after(spilled + Words{"--budget", std::to_string(smallest(spilled))}) == kept);
}

TEST_F(Twins, WhatLooksOnChangesNothing) {
  const std::string kept = state_after({});
  const std::string weights = last.bytes;
  EXPECT_TRUE(state_after({"--detect-anomaly"}) == kept);
  EXPECT_TRUE(state_after({"--trace", scene / "trace.json"}) == kept);
  EXPECT_TRUE(state_after({"--report", scene / "report.html"}) == kept);
  const Scene other;
  const std::string held = other.images({.samples = 10, .channels = 3, .size = 8, .seed = 4});
  EXPECT_TRUE(state_after({"--costs", "model"}) == kept);
  // The checkpoint holds the standing of validation, too.
  static_cast<void>(state_after({"--val", held, "--eval-every", "3"}));
  EXPECT_TRUE(last.bytes == weights);
}

// Statistics aside, parts of a batch differ from the whole by rounding alone, and from each other's
// budgets not at all.
TEST_F(Twins, MicroBatchesAreTheWholeUpToRounding) {
  model = write_keepsakes(scene, false);
  const std::string whole = state_after({"--micro-batch", "6"});
  const std::vector<Step> steps = last.steps;
  for (const char* const micro : {"4", "1"}) {
    SCOPED_TRACE(micro);
    const Words parts = {"--micro-batch", micro};
    const std::string roomy = state_after(parts);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_NEAR(last.steps[i].loss, steps[i].loss, 2e-5) << "step " << i;
    }
    const std::string budget = std::to_string(smallest(parts));
    EXPECT_TRUE(state_after(parts + Words{"--budget", budget}) == roomy);
    const Words spilled = parts + Words{"--spill", disk.path().string()};
    EXPECT_TRUE(state_after(spilled + Words{"--budget", std::to_string(smallest(spilled))}) ==
                roomy);
  }
}

// Photos that are cropped, flipped and shuffled, with dropout: every stop, with any number of
// loading threads, goes on with the same samples and draws.
TEST(AugmentedTwins, GoOnFromEveryStopWithTheSameBits) {
  namespace fs = std::filesystem;
  const Scene scene;
  for (int i = 0; i < 10; ++i) {
    const fs::path folder = fs::path(scene / "photos") / (i % 2 == 0 ? "even" : "odd");
    fs::create_directories(folder);
    const support::Picture picture = support::smooth_picture(12 + i, 20 - i, 3, i);
    support::write_jpeg((folder / std::to_string(i)).string() + ".jpg", picture);
  }
  const std::string model =
      scene.zoo({"mlp", "--size", "8", "--channels", "3", "--width", "16", "--classes", "2"});
  const Words run = {model,         "--data", scene / "photos", "--batch",    "3",
                     "--seed",      "7",      "--augment",      "crop,flip",  "--dropout",
                     "*relu*=0.25", "--lr",   "0.05",           "--momentum", "0.9",
                     "--optimizer", "sgd",    "--val-split",    "0.2"};
  const Trained whole = train(scene, run + Words{"--steps", "9"}, "whole.onnx");
  for (int stop = 1; stop < 9; ++stop) {
    SCOPED_TRACE(stop);
    const std::string ck = scene / core::text("{}.safetensors", stop);
    train(scene, run + Words{"--steps", std::to_string(stop), "--checkpoint", ck}, "part.onnx");
    const Trained rest =
        train(scene, run + Words{"--steps", "9", "--resume", ck}, core::text("{}.onnx", stop));
    EXPECT_TRUE(rest.bytes == whole.bytes);
    for (const Step& step : rest.steps) {
      EXPECT_EQ(step.loss, whole.steps[static_cast<std::size_t>(step.step - 1)].loss);
    }
  }
}

// The threads that decode do not order the samples.
TEST(AugmentedTwins, TheLoadingThreadsDoNotMatter) {
  namespace fs = std::filesystem;
  const Scene scene;
  for (int i = 0; i < 24; ++i) {
    const fs::path folder = fs::path(scene / "photos") / (i % 2 == 0 ? "even" : "odd");
    fs::create_directories(folder);
    support::write_png((folder / std::to_string(i)).string() + ".png",
                       support::smooth_picture(9 + i, 30 - i, 3, i));
  }
  // Too small for its sums to be shared out among threads.
  const std::string model =
      scene.zoo({"mlp", "--size", "8", "--channels", "3", "--width", "4", "--classes", "2"});
  const auto losses = [&](const char* threads) {
    const Trained trained =
        train(scene, {model, "--data", scene / "photos", "--batch", "6", "--augment", "crop,flip",
                      "--lr", "0", "--epochs", "3", "--threads", threads});
    std::vector<double> result;
    for (const Step& step : trained.steps) result.push_back(step.loss);
    return result;
  };
  const std::vector<double> one = losses("1");
  expect_near(losses("2"), one, 1e-6);
  expect_near(losses("7"), one, 1e-6);
}

// A table that is looked up and multiplied by keeps one gradient under every memory feature.
TEST(SharedTables, GiveTheSameBitsRecomputedAndSpilled) {
  const Scene scene;
  const support::Folder disk;
  const std::string model = scene.zoo({"gpt2", "--layers", "2", "--width", "32", "--heads", "2",
                                       "--vocabulary", "64", "--sequence", "16"});
  const std::string data = scene.tokens({.samples = 12, .sequence = 16, .vocabulary = 64});
  const Words run = {model,         "--data",        data,   "--batch", "4",
                     "--optimizer", "adamw",         "--lr", "0.01",    "--clip-norm",
                     "1",           "--micro-batch", "4",    "--steps", "6"};
  const Trained kept = train(scene, run + Words{"--policy", "keep"}, "kept.onnx");
  for (const Words& feature : {Words{"--policy", "chen"}, Words{"--spill", disk.path().string()}}) {
    const std::string budget = std::to_string(smallest_budget(run + feature));
    EXPECT_TRUE(train(scene, run + feature + Words{"--budget", budget}).bytes == kept.bytes);
  }
}

}  // namespace
}  // namespace lowtide::e2e
