// Steps whose numbers leave the finite: they end the run, are explained, and spoil nothing saved.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

// y = OP(w x): x is 1 but in the sixth of eight samples, which the third batch of two brings.
class Numbers : public testing::Test {
 protected:
  [[nodiscard]] Words run(const std::string& op, float bad, int steps = 4) const {
    const std::string model =
        write_model(scene, {.nodes = {toy::node("Mul", {"x", "w"}, {"product"}, {}, "scale"),
                                      toy::node(op, {"product"}, {"y"}, {}, "bend")},
                            .initializers = {weight("w", {2}, {1, 0.5F})},
                            .inputs = {toy::value_info("x", {"batch", "2"})},
                            .outputs = {toy::value_info("y", {"batch", "2"})}});
    std::vector<float> x(16, 1);
    x[10] = bad;
    const std::string data = write_data(scene, "x", core::Shape{8, 2}, x, core::Shape{8, 2},
                                        std::vector<float>(16, 0.25F));
    return {model,  "--data", data,      "--batch", "2",       "--no-shuffle",
            "--lr", "0.01",   "--train", "w",       "--steps", std::to_string(steps)};
  }

  // y = OP(w x) + BatchNormalization(w x), without the number of steps.
  [[nodiscard]] Words normalized(const std::string& op, float bad) const {
    Words words = run(op, bad);
    words[0] = write_model(
        scene,
        {.nodes = {toy::node("Mul", {"x", "w"}, {"product"}, {}, "scale"),
                   toy::node(op, {"product"}, {"bent"}, {}, "bend"),
                   toy::node("BatchNormalization", {"product", "s", "b", "mean", "variance"},
                             {"normal"}, {}, "norm"),
                   toy::node("Add", {"bent", "normal"}, {"y"}, {}, "sum")},
         .initializers = {weight("w", {2}, {1, 0.5F}), weight("s", {2}, {1, 1}),
                          weight("b", {2}, {0, 0}), weight("mean", {2}, {3, 3}),
                          weight("variance", {2}, {1, 1})},
         .inputs = {toy::value_info("x", {"batch", "2"})},
         .outputs = {toy::value_info("y", {"batch", "2"})}},
        op + "-normalized.onnx");
    words.resize(words.size() - 2);
    return words;
  }

  // A bad third step, with all that is saved; `parts` are what the message has.
  void expect_failure(const Words& run, const Words& parts) const {
    std::filesystem::remove(ck);
    std::filesystem::remove(ck + ".1");
    const Words saved = {"--checkpoint", ck, "--checkpoint-every", "1", "-o", scene / "out.onnx"};
    const Outcome outcome = lowtide(Words{"train"} + run + saved);
    EXPECT_EQ(outcome.exit_code, 1);
    for (const std::string& part : parts + Words{"step 3: ", ck + " holds step 2"}) {
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << ": " << outcome.err;
    }
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(scene / "out.onnx"));
  }

  // The tensors that a checkpoint holds, without its header and its checksum.
  [[nodiscard]] static std::string tensors(const std::string& path) {
    const std::string bytes = support::read_file(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    return bytes.substr(8 + length, bytes.size() - 8 - length - 4);
  }

  Scene scene;
  std::string ck = scene / "run.safetensors";
};

TEST_F(Numbers, ThatAreNotFiniteAreNotSaved) {
  expect_failure(run("Exp", 1000), {"the loss is inf"});
  expect_failure(run("Sqrt", 0), {"the norm of the gradients is"});
  // What is saved is the state before, bit by bit.
  train(scene, run("Sqrt", 0, 2) + Words{"--checkpoint", scene / "short.safetensors"});
  EXPECT_TRUE(tensors(ck) == tensors(scene / "short.safetensors"));
}

TEST_F(Numbers, AreTracedToTheNodeThatMadeTheFirst) {
  for (const Words& way : {Words{}, Words{"--micro-batch", "1"}, Words{"--policy", "chen"},
                           Words{"--clip-norm", "1", "--momentum", "0.9"}}) {
    const Words check = way + Words{"--detect-anomaly"};
    expect_failure(run("Exp", 1000) + check, {"the loss is inf", "no weight has been changed by it",
                                              "the first is inf: an element of",
                                              "made by 'bend/Exp' (Exp) in the forward pass"});
    expect_failure(run("Sqrt", 0) + check,
                   {"the norm of the gradients is nan", "no weight has been changed by it",
                    "the first is -inf: an element of", "'bend", "in the backward pass"});
  }
}

// With the check the failed step leaves the state as it was: it is saved though none was due.
TEST_F(Numbers, LeaveTheStateWholeWhereTheyAreChecked) {
  for (const Words& way : {Words{}, Words{"--micro-batch", "1"}}) {
    const Outcome outcome =
        lowtide(Words{"train"} + run("Sqrt", 0) + way +
                Words{"--detect-anomaly", "--checkpoint", ck, "--checkpoint-every", "100"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find(ck + " holds step 2"), std::string::npos) << outcome.err;
    train(scene, run("Sqrt", 0, 2) + way + Words{"--checkpoint", scene / "short.safetensors"});
    EXPECT_TRUE(tensors(ck) == tensors(scene / "short.safetensors"));
    std::filesystem::remove(ck);
    std::filesystem::remove(scene / "short.safetensors");
  }
}

// They move before the loss is known, and once for each micro-batch.
TEST_F(Numbers, LeaveRunningStatisticsWhereTheyWere) {
  const Words check = {"--detect-anomaly"};
  const Words parts = {"--micro-batch", "1"};
  struct Case {
    std::string op;
    float bad;
    Words way;
  };
  for (const auto& [op, bad, way] :
       {Case{"Exp", 1000, {}}, Case{"Exp", 1000, parts}, Case{"Exp", 1000, check},
        Case{"Exp", 1000, parts + check}, Case{"Sqrt", 0, check}, Case{"Sqrt", 0, parts + check},
        Case{"Sqrt", 0, {"--clip-norm", "1", "--momentum", "0.9"}}}) {
    const Words run = normalized(op, bad);
    const Outcome outcome =
        lowtide(Words{"train"} + run + way +
                Words{"--steps", "4", "--checkpoint", ck, "--checkpoint-every", "100"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find(ck + " holds step 2"), std::string::npos) << outcome.err;
    const std::string two = scene / "short.safetensors";
    train(scene, run + way + Words{"--steps", "2", "--checkpoint", two});
    EXPECT_TRUE(tensors(ck) == tensors(two));
    const std::string one = scene / "shorter.safetensors";
    train(scene, run + way + Words{"--steps", "1", "--checkpoint", one});
    EXPECT_FALSE(tensors(one) == tensors(two));
    for (const std::string& path : {ck, one, two}) std::filesystem::remove(path);
  }
}

// Without it a gradient is used as soon as it is there: the spoilt state is not saved.
TEST_F(Numbers, ThatSpoilTheStateLeaveNothingToSave) {
  const Outcome outcome = lowtide(Words{"train"} + run("Sqrt", 0) +
                                  Words{"--checkpoint", ck, "--checkpoint-every", "100"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("--detect-anomaly says"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("holds step"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(ck));
}

// A mask of infinities is no anomaly, whatever is.
TEST_F(Numbers, BlameNoMaskOfInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string model = write_model(
      scene,
      {.nodes = {toy::node("Mul", {"x", "w"}, {"product"}, {}, "scale"),
                 toy::node("Exp", {"product"}, {"large"}, {}, "bend"),
                 toy::node("Add", {"x", "mask"}, {"masked"}, {}, "hide"),
                 toy::node("Softmax", {"masked"}, {"share"}, {}, "choose"),
                 toy::node("Add", {"large", "share"}, {"y"}, {}, "sum")},
       .initializers = {weight("w", {2}, {1, 0.5F}), weight("mask", {2}, {-infinity, 0})},
       .inputs = {toy::value_info("x", {"batch", "2"})},
       .outputs = {toy::value_info("y", {"batch", "2"})}},
      "masked.onnx");
  Words words = run("Exp", 1000);
  words[0] = model;
  expect_failure(words + Words{"--freeze", "mask", "--detect-anomaly"},
                 {"made by 'bend/Exp' (Exp)"});
}

TEST_F(Numbers, AreThoseOfARunWithoutTheCheck) {
  const std::string model = scene.small_network();
  const std::string data = scene.images({.samples = 22});
  for (const Words& optimizer :
       {Words{"--lr", "0.1", "--momentum", "0.9", "--weight-decay", "0.01"},
        Words{"--optimizer", "adamw", "--lr", "0.01", "--clip-norm", "0.1"},
        Words{"--optimizer", "adam", "--lr", "0.01", "--micro-batch", "3"}}) {
    const Words run = Words{model, "--data", data, "--batch", "8", "--steps", "6"} + optimizer;
    const Trained plain = train(scene, run, "plain.onnx");
    const Trained checked = train(scene, run + Words{"--detect-anomaly"}, "checked.onnx");
    EXPECT_TRUE(plain.bytes == checked.bytes);
  }
}

// The mean by hand, from the weights that checkpoints hold.
TEST_F(Numbers, OfTheMeanOfTheWeightsFollowItsFormula) {
  const std::string model = scene.small_network();
  const std::string data = scene.images({.samples = 22});
  const Words run = {model, "--data", data, "--batch", "8", "--lr", "0.1", "--no-shuffle"};
  const auto weights = [&](const std::string& file) {
    return support::read_initializers(file).at("fc2.weight").values;
  };
  std::vector<double> mean = weights(model);
  for (int steps = 1; steps <= 4; ++steps) {
    const Words more = {"--steps", std::to_string(steps)};
    const std::vector<double> present = weights(train(scene, run + more, "plain.onnx").model);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = 0.75 * mean[i] + 0.25 * present[i];
    for (const Words& way : {Words{}, Words{"--micro-batch", "8", "--policy", "chen"}}) {
      const Words averaged = more + way + Words{"--ema", "0.75"};
      const std::vector<double> found = weights(train(scene, run + averaged, "mean.onnx").model);
      for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(found[i], mean[i], 1e-6) << i;
    }
  }
}

}  // namespace
}  // namespace lowtide::e2e
