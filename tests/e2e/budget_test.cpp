// The budget is a limit on the process's resident memory, and the smallest one is exact to a MiB.
#include <algorithm>
#include <ostream>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Network {
  std::string name;
  Words zoo;
  Images images;
  std::int64_t batch = 0;
  std::size_t steps = 60;  // of the long run
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

const std::vector<Network> kNetworks = {
    {"mlp",
     {"mlp", "--size", "28", "--channels", "1", "--width", "512"},
     {.samples = 320, .size = 28, .classes = 10},
     64},
    {"lenet", {"lenet", "--channels", "1"}, {.samples = 320, .size = 28, .classes = 10}, 64},
    {"wrn",
     {"wrn", "--depth", "16", "--width", "2", "--channels", "1", "--size", "28"},
     {.samples = 32, .size = 28, .classes = 10},
     8,
     40},
    {"resnet",
     {"resnet", "--depth", "18", "--size", "64"},
     {.samples = 16, .channels = 3, .size = 64, .classes = 10},
     4,
     15},
    // Whose first pools take the convolutions, or the norms, before them.
    {"vgg",
     {"vgg", "--depth", "11", "--width", "64", "--size", "160"},
     {.samples = 8, .channels = 3, .size = 160, .classes = 10},
     4,
     8},
    {"vgg_of_norms",
     {"vgg", "--depth", "11", "--width", "64", "--size", "160", "--batch-norm"},
     {.samples = 8, .channels = 3, .size = 160, .classes = 10},
     4,
     8},
};

class Budget : public testing::TestWithParam<Network> {
 protected:
  // Options of a run that is the same at every budget.
  [[nodiscard]] Words run(const Words& options = {}) const {
    const std::string batch = std::to_string(GetParam().batch);
    return Words{model, "--data", data, "--batch", batch, "--micro-batch", batch, "--lr", "0.01"} +
           options;
  }

  Scene scene;
  std::string model = scene.zoo(GetParam().zoo);
  std::string data = scene.images(GetParam().images);
};

TEST_P(Budget, EveryAcceptedRunStaysInsideWithTheSameWeights) {
  const Json none = plan(run({"--budget", "1"}));
  EXPECT_FALSE(none.at("fits").get<bool>());
  const std::int64_t smallest = none.at("smallest_feasible_bytes");
  std::string weights;
  for (const std::int64_t budget :
       {smallest, smallest + smallest / 100, smallest * 3 / 2, 4 * smallest}) {
    SCOPED_TRACE(core::text("budget {} of {} smallest", budget, smallest));
    const Trained trained = train(scene, run({"--steps", "3", "--budget", std::to_string(budget)}));
    const std::int64_t peak = trained.result.at("peak_rss_bytes");
    EXPECT_LE(peak, budget);
    EXPECT_LE(trained.result.at("arena_bytes").get<std::int64_t>() +
                  trained.result.at("runtime_bytes").get<std::int64_t>(),
              budget);
    EXPECT_EQ(trained.result.at("budget_bytes").get<std::int64_t>(), budget);
    if (weights.empty()) weights = trained.bytes;
    EXPECT_TRUE(trained.bytes == weights) << "weights differ";
    if (budget == smallest) {
      RecordProperty("smallest", std::to_string(smallest));
      RecordProperty("runtime", trained.result.at("runtime_bytes").dump());
      RecordProperty("arena", trained.result.at("arena_bytes").dump());
      RecordProperty("peak", std::to_string(peak));
    }
  }
}

TEST_P(Budget, OneMebibyteBelowTheSmallestIsRefusedBeforeTheFirstStep) {
  const std::int64_t smallest = smallest_budget(run());
  for (const std::int64_t budget : {smallest - 1, smallest - kMiB}) {
    expect_refused(scene,
                   Words{"train"} + run({"--steps", "1", "--budget", std::to_string(budget), "-o",
                                         scene / "out.onnx"}),
                   {core::text("({} bytes)", smallest)});
    const Json planned = plan(run({"--budget", std::to_string(budget)}));
    EXPECT_FALSE(planned.at("fits").get<bool>());
    EXPECT_EQ(planned.at("smallest_feasible_bytes").get<std::int64_t>(), smallest);
  }
  EXPECT_TRUE(plan(run({"--budget", std::to_string(smallest)})).at("fits").get<bool>());
}

TEST_P(Budget, ResidentMemoryDoesNotClimb) {
  const std::int64_t smallest = smallest_budget(run());
  const Trained trained = train(scene, run({"--steps", std::to_string(GetParam().steps),
                                            "--no-shuffle", "--budget", std::to_string(smallest)}));
  ASSERT_EQ(trained.steps.size(), GetParam().steps);
  std::int64_t most = 0;
  for (std::size_t i = 10; i < GetParam().steps; ++i)
    most = std::max(most, trained.steps[i].rss_bytes);
  constexpr std::int64_t kNoise = 128 * 1024;
  EXPECT_LE(most, trained.steps[9].rss_bytes + kNoise);
  EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
}

TEST_P(Budget, TheSmallestGrowsWithTheBatch) {
  std::int64_t last = 0;
  for (const std::int64_t batch : {GetParam().batch / 4, GetParam().batch / 2, GetParam().batch}) {
    const std::string samples = std::to_string(batch);
    const std::int64_t smallest =
        smallest_budget({model, "--data", data, "--batch", samples, "--micro-batch", samples});
    EXPECT_GE(smallest, last) << "batch " << batch;
    last = smallest;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Budget, testing::ValuesIn(kNetworks), [](const auto& instance) {
  return instance.param.name;
});

// Ten times the data neither changes what is needed nor what is used.
TEST(BudgetAndData, TheSizeOfTheDataDoesNotCount) {
  const Scene scene;
  const std::string model = scene.zoo({"lenet", "--channels", "1"});
  const auto peak = [&](std::int64_t samples, std::int64_t& smallest) {
    const std::string data = scene.images({.samples = samples, .size = 28, .classes = 10});
    const Words arguments = {model, "--data", data, "--batch", "32", "--no-shuffle"};
    smallest = smallest_budget(arguments);
    return train(scene, arguments + Words{"--steps", "60", "--budget", std::to_string(smallest)})
        .result.at("peak_rss_bytes")
        .get<std::int64_t>();
  };
  std::int64_t few = 0;
  std::int64_t many = 0;
  EXPECT_LE(peak(320, few), few);
  EXPECT_LE(peak(3200, many), many);
  EXPECT_LE(many - few, kMiB);  // the order of the samples is held
}

// Every thread brings a stack and scratch of its own; the budget counts them.
TEST(BudgetAndThreads, TheScratchOfEveryThreadCounts) {
  const Scene scene;
  // The window matrix of a 3x3 convolution would be nine times its input.
  const std::string model =
      scene.zoo({"resnet", "--depth", "18", "--size", "32", "--classes", "3"});
  const std::string data = scene.images({.samples = 16, .channels = 3, .size = 32});
  std::int64_t last = 0;
  for (const char* const threads : {"1", "2", "16"}) {
    SCOPED_TRACE(threads);
    const Words run = {model, "--data", data, "--batch", "8", "--threads", threads};
    const std::int64_t smallest = smallest_budget(run);
    EXPECT_GE(smallest, last);
    last = smallest;
    const Trained trained =
        train(scene, run + Words{"--steps", "12", "--budget", std::to_string(smallest)});
    EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  }
}

// All that a long run does beside its steps has its place in the smallest budget.
TEST(BudgetAndExtras, ValidationCheckpointsReportsAndMeansOfWeightsCount) {
  const Scene scene;
  const std::string model = scene.zoo({"lenet", "--channels", "1"});
  const std::string data = scene.images({.samples = 256, .size = 28, .classes = 10});
  const Words run = {model,
                     "--data",
                     data,
                     "--batch",
                     "32",
                     "--ema",
                     "0.99",
                     "--val-split",
                     "0.25",
                     "--optimizer",
                     "adamw",
                     "--report",
                     scene / "r.html",
                     "--checkpoint",
                     scene / "run.ck"};
  const std::int64_t smallest = smallest_budget(run);
  const Trained trained = train(scene, run + Words{"--checkpoint-every", "3", "--eval-every", "2",
                                                   "--keep-best", scene / "best.onnx", "--steps",
                                                   "60", "--budget", std::to_string(smallest)});
  EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  constexpr std::int64_t kNoise = 128 * 1024;
  for (std::size_t i = 10; i < trained.steps.size(); ++i) {
    EXPECT_LE(trained.steps[i].rss_bytes, trained.steps[9].rss_bytes + kNoise) << "step " << i;
  }
}

// Where a network has no batch statistics, smaller passes go below what one pass can.
TEST(BudgetAndPasses, MicroBatchesAreChosenWhereTheBatchDoesNotFit) {
  const Scene scene;
  const std::string model = scene.zoo({"lenet", "--channels", "1"});
  const std::string data = scene.images({.samples = 512, .size = 28, .classes = 10});
  const Words arguments = {model, "--data", data, "--batch", "512"};
  const std::int64_t whole = smallest_budget(arguments + Words{"--micro-batch", "512"});
  const std::int64_t any = smallest_budget(arguments);
  EXPECT_LT(any, whole);
  const Trained parts = train(
      scene, arguments + Words{"--steps", "3", "--budget", std::to_string(any)}, "parts.onnx");
  EXPECT_LT(parts.result.at("micro_batch").get<std::int64_t>(), 512);
  EXPECT_LE(parts.result.at("peak_rss_bytes").get<std::int64_t>(), any);
  const Trained one = train(scene, arguments + Words{"--steps", "3"}, "one.onnx");
  EXPECT_EQ(one.result.at("micro_batch").get<std::int64_t>(), 512);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(parts.steps[i].loss, one.steps[i].loss, 1e-5);
    EXPECT_NEAR(parts.steps[i].grad_norm, one.steps[i].grad_norm, 1e-4 * one.steps[i].grad_norm);
  }
}

// The smallest budget is a property of the run, not of the budget that was asked for.
TEST(Budget, TheSmallestIsTheSameWhateverIsAskedFor) {
  const Scene scene;
  const std::string model = scene.zoo({"lenet", "--channels", "1"});
  const Words run = {model, "--batch", "64"};
  const std::int64_t smallest = smallest_budget(run);
  for (const char* const budget : {"1MiB", "40MiB", "1GiB"}) {
    const Json planned = plan(run + Words{"--budget", budget});
    EXPECT_EQ(planned.at("smallest_feasible_bytes").get<std::int64_t>(), smallest) << budget;
  }
}

// Without data a plan assumes as much as the model takes, a short last batch included.
TEST(Budget, APlanNeedsNoData) {
  const Scene scene;
  const std::string model = scene.zoo({"wrn", "--depth", "10", "--width", "1", "--size", "8"});
  const std::string data = scene.images({.samples = 31, .channels = 3, .size = 8, .classes = 10});
  const std::int64_t assumed = smallest_budget({model, "--batch", "16"});
  EXPECT_EQ(assumed, smallest_budget({model, "--batch", "16", "--data", data}));
  const Outcome open = lowtide({"plan", model, "--batch", "16", "--shape", "nothing=1,2"});
  EXPECT_EQ(open.exit_code, 1);
  EXPECT_NE(open.err.find("nothing"), std::string::npos) << open.err;
}

// Planning thousands of nodes takes more than their tensors do where these are small.
TEST(BudgetOfManyNodes, HoldsAtTheSmallest) {
  const Scene scene;
  const std::string model = scene.zoo({"wrn", "--depth", "154", "--width", "1", "--size", "8"});
  const std::string data = scene.images({.samples = 4, .channels = 3, .size = 8, .classes = 10});
  const Words run = {model,         "--data", data,      "--batch", "2",
                     "--optimizer", "adamw",  "--costs", "model"};
  for (const Words& options : {Words{}, Words{"--val-split", "0.5"}}) {
    const std::int64_t smallest = smallest_budget(run + options);
    const Trained trained =
        train(scene, run + options + Words{"--steps", "2", "--budget", std::to_string(smallest)});
    EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  }
}

}  // namespace
}  // namespace lowtide::e2e
