// What fixes a run's numbers: the seed, the order of the samples, and nothing else.
#include <cmath>

#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

class Determinism : public testing::Test {
 protected:
  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 22});
  Words run = {model, "--data", data, "--batch", "8", "--lr", "0.1", "--momentum", "0.9"};
};

TEST_F(Determinism, TheSameSeedGivesTheSameFile) {
  const Words seeded = run + Words{"--epochs", "3", "--seed", "5"};
  const Trained first = train(scene, seeded, "first.onnx");
  const Trained second = train(scene, seeded, "second.onnx");
  EXPECT_TRUE(first.bytes == second.bytes);
  const Trained other = train(scene, run + Words{"--epochs", "3", "--seed", "6"}, "other.onnx");
  EXPECT_FALSE(first.bytes == other.bytes);
}

TEST_F(Determinism, TheModelIsNotTouched) {
  const std::string before = support::read_file(model);
  const Trained trained = train(scene, run);
  EXPECT_TRUE(support::read_file(model) == before);
  EXPECT_FALSE(trained.bytes == before);
}

TEST_F(Determinism, AFileMayBeTrainedInPlace) {
  const Trained apart = train(scene, run, "apart.onnx");
  const Outcome outcome = lowtide(Words{"train"} + run + Words{"-o", model});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(support::read_file(model) == apart.bytes);
}

// 22 samples in batches of 8: two whole ones and one of six.
TEST_F(Determinism, AShortLastBatchTakesPart) {
  const Trained whole = train(scene, run + Words{"--epochs", "2", "--no-shuffle"});
  ASSERT_EQ(whole.steps.size(), 6U);
  EXPECT_EQ(whole.steps[2].epoch, 0);
  EXPECT_EQ(whole.steps[3].epoch, 1);
  const Trained dropped = train(scene, run + Words{"--epochs", "2", "--no-shuffle", "--drop-last"});
  ASSERT_EQ(dropped.steps.size(), 4U);
  EXPECT_EQ(dropped.steps[1].loss, whole.steps[1].loss);
  EXPECT_NE(dropped.steps[2].loss, whole.steps[3].loss);  // one update less by then
}

TEST_F(Determinism, StepsRunAcrossEpochs) {
  const Trained epochs = train(scene, run + Words{"--epochs", "2"}, "epochs.onnx");
  const Trained steps = train(scene, run + Words{"--steps", "6"}, "steps.onnx");
  EXPECT_TRUE(epochs.bytes == steps.bytes);
  const Trained four = train(scene, run + Words{"--steps", "4"}, "four.onnx");
  ASSERT_EQ(four.steps.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(four.steps[i].loss, steps.steps[i].loss);
  const Trained none = train(scene, run + Words{"--steps", "0"}, "none.onnx");
  EXPECT_TRUE(none.steps.empty());
  EXPECT_EQ(support::read_initializers(none.model).at("fc1.weight").values,
            support::read_initializers(model).at("fc1.weight").values);
}

TEST_F(Determinism, ABatchLargerThanTheDataIsTheData) {
  const Trained trained = train(scene, {model, "--data", data, "--batch", "1000", "--epochs", "2"});
  EXPECT_EQ(trained.steps.size(), 2U);
}

TEST_F(Determinism, TheScheduleIsInTheLog) {
  const Trained trained = train(scene, run + Words{"--steps", "5", "--schedule", "cosine",
                                                   "--warmup", "2", "--min-lr", "0.02"});
  const double pi = std::acos(-1.0);
  ASSERT_EQ(trained.steps.size(), 5U);
  EXPECT_DOUBLE_EQ(trained.steps[0].lr, 0.05);
  EXPECT_DOUBLE_EQ(trained.steps[1].lr, 0.1);
  for (std::size_t i = 2; i < 5; ++i) {
    const double d = static_cast<double>(i - 2) / 3;
    EXPECT_NEAR(trained.steps[i].lr, 0.02 + 0.08 * (1 + std::cos(pi * d)) / 2, 1e-15);
  }
}

TEST_F(Determinism, FrozenTensorsKeepTheirBytesAndOthersMove) {
  const auto before = support::read_initializers(model);
  const Trained trained = train(scene, run + Words{"--freeze", "fc1.*", "--freeze", "*.bias"});
  const auto after = support::read_initializers(trained.model);
  for (const char* const name : {"fc1.weight", "fc1.bias", "fc2.bias", "fc3.bias"}) {
    EXPECT_EQ(after.at(name).values, before.at(name).values) << name;
  }
  for (const char* const name : {"fc2.weight", "fc3.weight"}) {
    EXPECT_NE(after.at(name).values, before.at(name).values) << name;
  }
}

TEST_F(Determinism, TrainingLearnsAndEvaluationSaysSo) {
  const auto evaluate = [&](const std::string& file) {
    return Json::parse(lowtide({"eval", file, "--data", data, "--batch", "5", "--json"}).out);
  };
  const Json before = evaluate(model);
  const Trained trained = train(scene, run + Words{"--epochs", "40"});
  const Json after = evaluate(trained.model);
  EXPECT_EQ(after.at("samples").get<int>(), 22);
  EXPECT_LT(after.at("loss").get<double>(), 0.5 * before.at("loss").get<double>());
  EXPECT_GE(after.at("metrics").at("accuracy").get<double>(), 0.9);
}

TEST_F(Determinism, EvaluationDoesNotDependOnTheBatch) {
  const auto loss = [&](const std::string& batch) {
    return Json::parse(lowtide({"eval", model, "--data", data, "--batch", batch, "--json"}).out)
        .at("loss")
        .get<double>();
  };
  EXPECT_NEAR(loss("22"), loss("1"), 1e-6);
  EXPECT_NEAR(loss("22"), loss("8"), 1e-6);
}

}  // namespace
}  // namespace lowtide::e2e
