// Validation while training: it tells what `eval` tells, changes nothing, and is acted upon.
#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

class Validating : public testing::Test {
 protected:
  [[nodiscard]] Words arguments(const Words& more) const {
    return still({"--lr", "0.1", "--momentum", "0.9"}) + more;
  }
  [[nodiscard]] Words still(const Words& more) const {
    return Words{model, "--data", data, "--batch", "8"} + more;
  }
  [[nodiscard]] Json evaluated(const std::string& file) const {
    const Outcome outcome = lowtide({"eval", file, "--data", other, "--batch", "8", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 22});
  Scene elsewhere;
  std::string other = elsewhere.images({.samples = 13, .seed = 2});  // a short last batch
};

TEST_F(Validating, TellsWhatEvalTellsOfTheSavedFile) {
  for (const Words& more : {Words{}, Words{"--ema", "0.8"}, Words{"--micro-batch", "3"}}) {
    const Trained run = train(scene, arguments(Words{"--val", other, "--epochs", "3"} + more));
    const Json& metrics = run.result["metrics"];
    const Json file = evaluated(run.model);
    EXPECT_NEAR(metrics["val_loss"].get<double>(), file["loss"].get<double>(), 1e-6);
    EXPECT_EQ(metrics["val_accuracy"], file["metrics"]["accuracy"]);
  }
}

TEST_F(Validating, ChangesNoWeightAtAnyBudget) {
  const Words steps = {"--epochs", "3", "--micro-batch", "8"};
  const Trained without = train(scene, arguments(steps), "without.onnx");
  const Words with = arguments(steps + Words{"--val", other});
  EXPECT_TRUE(train(scene, with + Words{"--eval-every", "2"}, "with.onnx").bytes == without.bytes);
  const std::string smallest = std::to_string(smallest_budget(with));
  const Trained tight = train(scene, with + Words{"--budget", smallest}, "tight.onnx");
  EXPECT_TRUE(tight.bytes == without.bytes);
  EXPECT_LE(tight.result["peak_rss_bytes"].get<std::int64_t>(), std::stoll(smallest));
}

TEST_F(Validating, KeepsTheBestModel) {
  const std::string best = scene / "best.onnx";
  const Trained run =
      train(scene,
            arguments({"--val", other, "--steps", "12", "--eval-every", "1", "--keep-best", best}));
  const Json& metrics = run.result["metrics"];
  EXPECT_NEAR(metrics["best_val_loss"].get<double>(), evaluated(best)["loss"].get<double>(), 1e-6);
  EXPECT_LE(metrics["best_val_loss"].get<double>(), metrics["val_loss"].get<double>());
}

TEST_F(Validating, EndsTrainingWhenNothingGetsBetter) {
  const Trained run = train(scene, still({"--val", other, "--steps", "200", "--lr", "0",
                                          "--eval-every", "1", "--early-stop", "3"}));
  EXPECT_EQ(run.result["steps"], 4);  // the first is the best, three are no better
  EXPECT_EQ(run.result["metrics"]["best_step"], 1);
}

TEST_F(Validating, GoesOnFromACheckpoint) {
  const Words common = arguments({"--val", other, "--eval-every", "2", "--schedule", "constant",
                                  "--ema", "0.9", "--early-stop", "3"});
  const std::string end = scene / "whole.ck";
  const Trained whole = train(
      scene, common + Words{"--steps", "10", "--checkpoint", end, "--keep-best", scene / "a.onnx"},
      "whole.onnx");
  // A run that ends at an odd step validates there for its own sake.
  for (const char* const half : {"5", "6"}) {
    const std::string checkpoint = scene / half;
    const Words saved = common + Words{"--checkpoint", checkpoint,    "--resume",
                                       checkpoint,     "--keep-best", scene / "b.onnx"};
    const Trained first = train(scene, saved + Words{"--steps", half}, "half.onnx");
    EXPECT_TRUE(first.result["metrics"].contains("val_loss"));
    const Trained rest = train(scene, saved + Words{"--steps", "10"}, "rest.onnx");
    EXPECT_TRUE(rest.bytes == whole.bytes);
    EXPECT_TRUE(support::read_file(checkpoint) == support::read_file(end));
    EXPECT_TRUE(support::read_file(scene / "b.onnx") == support::read_file(scene / "a.onnx"));
  }
}

TEST_F(Validating, NeedsData) {
  for (const Words& option : {Words{"--eval-every", "2"}, Words{"--early-stop", "2"},
                              Words{"--keep-best", scene / "best.onnx"}}) {
    const Outcome outcome = lowtide(Words{"train"} + arguments(option + Words{"--steps", "2"}));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("need --val or --val-split"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace lowtide::e2e
