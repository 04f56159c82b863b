// Data that is held back: which samples, and that training does not see them.
#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

Json evaluated(const Words& arguments) {
  const Outcome outcome = lowtide(Words{"eval", "--json"} + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

TEST(Validation, AShareOfTheDataIsHeldBack) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string data = scene.images();  // 24 samples
  const Words split = {"--data", data, "--val-split", "0.25"};
  const Trained trained = train(scene, Words{model, "--batch", "6"} + split);
  EXPECT_EQ(trained.steps.size(), 3U);
  EXPECT_EQ(evaluated(Words{trained.model} + split).at("samples"), 6);
  EXPECT_EQ(evaluated({trained.model, "--data", data}).at("samples"), 24);
}

// Other held-out samples give other weights; the same ones the same.
TEST(Validation, TheSplitDependsOnItsSeed) {
  const Scene scene;
  const Words arguments = {scene.small_network(), "--data", scene.images(), "--val-split", "0.5"};
  const Trained one = train(scene, arguments + Words{"--split-seed", "3"}, "one.onnx");
  const Trained again = train(scene, arguments + Words{"--split-seed", "3"}, "again.onnx");
  const Trained other = train(scene, arguments + Words{"--split-seed", "4"}, "other.onnx");
  EXPECT_EQ(one.bytes, again.bytes);
  EXPECT_NE(one.bytes, other.bytes);
}

TEST(Validation, EvaluationTakesTheValidationData) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string data = scene.images();
  std::filesystem::rename(data, scene / "train.npz");
  const std::string other = scene.images({.samples = 9, .seed = 5});
  const Words sources = {"--data", scene / "train.npz", "--val", other};
  EXPECT_EQ(evaluated(Words{model} + sources), evaluated({model, "--data", other}));
  EXPECT_EQ(train(scene, Words{model, "--batch", "8"} + sources).steps.size(), 3U);
}

TEST(Validation, WhatDoesNotMatchIsRefused) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string data = scene.images();
  std::filesystem::rename(data, scene / "train.npz");
  const std::string large = scene.images({.size = 5});
  expect_refused(scene, {"train", model, "--data", scene / "train.npz", "--val", large},
                 {large, "'input'", "1, 5, 5", "1, 4, 4"});
  expect_refused(scene, {"train", model, "--data", scene / "train.npz", "--val-split", "1.5"},
                 {"--val-split", "1.5"});
}

}  // namespace
}  // namespace lowtide::e2e
