// `plan -o` and `train --plan`: a plan that another process made is obeyed to the step, and refused
// by name where it is for another run.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"
#include "support/folder.h"

namespace lowtide::e2e {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class PlanFiles : public testing::Test {
 protected:
  // 44 samples: batches of 16, and a last one of 12.
  Scene scene;
  std::string model = scene.zoo({"wrn", "--depth", "16", "--width", "1", "--size", "24"});
  std::string data = scene.images({.samples = 44, .channels = 3, .size = 24, .classes = 10});
  std::string file = scene / "plan.json";
  Words run = {model, "--data", data, "--batch", "16"};

  // Writes a plan for the budget.
  void make(const Words& arguments, std::int64_t budget) const {
    const Outcome outcome =
        lowtide(Words{"plan"} + arguments + Words{"--budget", std::to_string(budget), "-o", file});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  void expect_no_use(const Words& arguments, const Words& parts) const {
    expect_refused(scene,
                   Words{"train"} + arguments + Words{"--plan", file, "-o", scene / "out.onnx"},
                   Words{file} + parts);
  }
};

TEST_F(PlanFiles, AreObeyed) {
  const std::int64_t smallest = smallest_budget(run);
  make(run, smallest);
  const Trained own = train(scene, run + Words{"--policy", "keep"}, "own.onnx");
  const Trained obeying = train(scene, run + Words{"--plan", file}, "obeying.onnx");
  EXPECT_EQ(obeying.bytes, own.bytes);
  EXPECT_EQ(obeying.result.at("budget_bytes").get<std::int64_t>(), smallest);
  EXPECT_LE(obeying.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  EXPECT_GT(obeying.result.at("plan").at("recomputed").get<int>(), 0);
  const Json planned = plan(run + Words{"--budget", std::to_string(smallest)});
  EXPECT_EQ(obeying.result.at("arena_bytes"), planned.at("arena_bytes"));
  EXPECT_EQ(obeying.result.at("plan").at("predicted_seconds"), planned.at("predicted_seconds"));
  // More than the plan's budget is fine: the plan stays.
  const Trained roomy = train(
      scene, run + Words{"--plan", file, "--budget", std::to_string(2 * smallest)}, "roomy.onnx");
  EXPECT_EQ(roomy.bytes, own.bytes);
  EXPECT_EQ(roomy.result.at("arena_bytes"), planned.at("arena_bytes"));
}

// The plan's own budget is enough for it, to the byte.
TEST_F(PlanFiles, FillABudgetThatIsNotInWholeMebibytes) {
  const Json planned = plan(run + Words{"--budget", std::to_string(smallest_budget(run) * 3 / 2)});
  const std::int64_t budget = planned.at("arena_bytes").get<std::int64_t>() +
                              planned.at("runtime_bytes").get<std::int64_t>();
  ASSERT_NE(budget % kMiB, 0);
  make(run, budget);
  const Trained trained =
      train(scene, run + Words{"--plan", file, "--budget", std::to_string(budget)});
  EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), budget);
}

// Where memory is short, gradients of weights are computed from what their input was made of: the
// same weights, and no repetition for it.
TEST_F(PlanFiles, UseAlternativesWhereMemoryIsShort) {
  run.front() = scene.zoo({"wrn", "--depth", "16", "--width", "2", "--size", "24"});
  const auto alternatives = [&](const Json& program) {
    return std::ranges::count_if(program.at("steps"), [&](const Json& step) {
      return program.at("nodes").at(step.at("node").get<std::size_t>()).at("op") ==
             "NormedConvGradient";
    });
  };
  make(run, (smallest_budget(run) + smallest_budget(run + Words{"--policy", "keep"})) / 2);
  const Trained own = train(scene, run + Words{"--policy", "keep", "--steps", "4"}, "own.onnx");
  const Trained obeying = train(scene, run + Words{"--plan", file, "--steps", "4"}, "short.onnx");
  EXPECT_EQ(obeying.bytes, own.bytes);
  EXPECT_GT(alternatives(Json::parse(support::read_file(file)).at("programs").at(0)), 0);
  const Outcome kept = lowtide(Words{"plan"} + run + Words{"--policy", "keep", "-o", file});
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_EQ(alternatives(Json::parse(support::read_file(file)).at("programs").at(0)), 0);
}

TEST_F(PlanFiles, OfMicroBatchesAndSpillsAreObeyed) {
  const std::string lenet = scene.zoo({"lenet", "--channels", "3", "--size", "24"});
  support::Folder spill;
  for (const Words& options :
       {Words{"--micro-batch", "3"},
        Words{"--micro-batch", "3", "--spill", spill.path().string(), "--optimizer", "adam"}}) {
    Words arguments = run + options;
    arguments.front() = lenet;
    make(arguments, smallest_budget(arguments));
    const Trained own = train(scene, arguments, "own.onnx");
    const Trained obeying = train(scene, arguments + Words{"--plan", file}, "obeying.onnx");
    EXPECT_EQ(obeying.bytes, own.bytes);
    EXPECT_EQ(obeying.result.at("micro_batch").get<int>(), 3);
  }
}

TEST_F(PlanFiles, AreRefusedForAnotherRun) {
  const std::int64_t smallest = smallest_budget(run);
  make(run, smallest + kMiB);
  expect_no_use(run + Words{"--budget", std::to_string(smallest)},
                {core::text("({} bytes)", smallest + kMiB)});
  Words other = run;
  other.back() = "11";
  expect_no_use(other, {"--batch was 16 there and is 11 here"});
  expect_no_use(run + Words{"--micro-batch", "4"}, {"--micro-batch was 16 there and is 4 here"});
  expect_no_use(run + Words{"--optimizer", "adam"}, {"--optimizer was sgd there and is adam here"});
  expect_no_use(run + Words{"--clip-norm", "1"}, {"--clip-norm was off there and is on here"});
  expect_no_use(run + Words{"--threads", "1", "--isa", "reference"}, {"here"});
  // Momentum is state that lasts, a frozen tensor has no update.
  expect_no_use(run + Words{"--momentum", "0.9"}, {"another model or other settings"});
  expect_no_use(run + Words{"--freeze", "*conv*"}, {"another model or other settings"});
  other = run;
  other[2] = scene.images({.samples = 43, .channels = 3, .size = 24, .classes = 10});
  expect_no_use(other, {"passes of 11 samples", "--data"});
  other = run;
  other.front() = scene.zoo({"wrn", "--depth", "10", "--width", "1", "--size", "24"});
  expect_no_use(other, {"another model or other settings: node"});
}

TEST_F(PlanFiles, ThatSpillNeedAPlaceToSpillTo) {
  support::Folder spill;
  const Words here = {"--spill", spill.path().string(), "--momentum", "0.9"};
  make(run + here, smallest_budget(run + here));
  expect_no_use(run + Words{"--momentum", "0.9"}, {"--spill DIR"});
  expect_no_use(run + here + Words{"--spill-limit", "4096"}, {"--spill-limit"});
}

TEST_F(PlanFiles, ThatAreWrongAreRefused) {
  make(run, smallest_budget(run));
  const std::string good = support::read_file(file);
  const auto spoil = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    support::write_file(file, text.replace(at, from.size(), to));
  };
  spoil("lowtide plan", "lowtide");
  expect_no_use(run, {"format: expected \"lowtide plan\""});
  spoil("\"again\":true,", "");
  expect_no_use(run, {"the plan is wrong: step"});
  spoil("\"first\":0,", "\"first\":1,");
  expect_no_use(run, {"the plan is wrong: "});
  support::write_file(file, good.substr(0, good.size() / 2));
  expect_no_use(run, {"is not JSON"});
}

TEST_F(PlanFiles, HoldNoPolicyBesides) {
  expect_no_use(run, {"No such file"});
  make(run + Words{"--policy", "chen"}, smallest_budget(run + Words{"--policy", "chen"}));
  expect_no_use(run + Words{"--policy", "keep"}, {"--policy was chen there and is keep here"});
  const Trained obeying = train(scene, run + Words{"--plan", file, "--steps", "1"});
  EXPECT_EQ(obeying.result.at("plan").at("policy"), "chen");
}

}  // namespace
}  // namespace lowtide::e2e
