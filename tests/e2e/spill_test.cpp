// Training with a spill file: the same weights, within budgets that are smaller than the state, and
// nothing left behind.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <thread>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

struct Network {
  std::string name;
  Words zoo;
  Images images;
  std::int64_t batch = 0;
  Words options = {};
  bool wins = true;  // keeping all needs more than the largest layer does
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

const std::vector<Network> kNetworks = {
    {"mlp",
     {"mlp", "--size", "28", "--channels", "1", "--width", "512"},
     {.samples = 320, .size = 28, .classes = 10},
     64,
     {"--optimizer", "adam", "--lr", "0.001"}},
    {"lenet",
     {"lenet", "--channels", "1"},
     {.samples = 640, .size = 28, .classes = 10},
     320,
     {"--lr", "0.01", "--momentum", "0.9"},
     false},
    {"resnet",
     {"resnet", "--depth", "18", "--size", "64"},
     {.samples = 16, .channels = 3, .size = 64, .classes = 10},
     4,
     {"--lr", "0.01", "--momentum", "0.9", "--weight-decay", "0.001"}},
    {"gpt2",
     {"gpt2", "--depth", "2", "--width", "128", "--heads", "4", "--vocabulary", "512", "--sequence",
      "64"},
     {},
     4,
     {"--optimizer", "adamw", "--lr", "0.001", "--clip-norm", "1"}},
};

class Spilling : public testing::TestWithParam<Network> {
 protected:
  [[nodiscard]] Words run(const Words& options) const {
    const std::string batch = std::to_string(GetParam().batch);
    return Words{model, "--data", data, "--batch", batch, "--micro-batch", batch} +
           GetParam().options + options;
  }

  Scene scene;
  std::string model = scene.zoo(GetParam().zoo);
  std::string data = GetParam().name == "gpt2"
                         ? scene.tokens({.samples = 16, .sequence = 64, .vocabulary = 512})
                         : scene.images(GetParam().images);
  support::Folder spill;
};

TEST_P(Spilling, GivesTheSameWeightsInLessMemory) {
  const Trained kept = train(scene, run({"--steps", "4", "--policy", "keep"}), "kept.onnx");
  const Words here = {"--spill", spill.path().string()};
  for (const std::string policy : {"lowtide", "keep"}) {
    const std::int64_t without = smallest_budget(run({"--policy", policy}));
    const std::int64_t smallest = smallest_budget(run(here + Words{"--policy", policy}));
    // The file's threads and buffers take a MiB, which a small network may not win back.
    constexpr std::int64_t kMiB = 1 << 20;
    EXPECT_LE(smallest, without + kMiB);
    if (policy == "keep" && GetParam().wins) {
      EXPECT_LT(smallest, without);
    }
    for (const std::int64_t budget : {smallest, (smallest + without) / 2}) {
      SCOPED_TRACE(core::text("{} in {}", policy, budget));
      if (budget < smallest) continue;
      const Trained trained = train(scene, run(here + Words{"--steps", "4", "--policy", policy,
                                                            "--budget", std::to_string(budget)}));
      EXPECT_TRUE(trained.bytes == kept.bytes) << "weights differ";
      EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), budget);
      if (policy == "keep" && GetParam().wins) {
        EXPECT_GT(trained.result.at("plan").at("spilled").get<int>(), 0);
        EXPECT_GT(trained.result.at("plan").at("spill").at("fetched_bytes").get<std::int64_t>(), 0);
      }
      ASSERT_EQ(trained.steps.size(), kept.steps.size());
      for (std::size_t i = 0; i < kept.steps.size(); ++i) {
        EXPECT_EQ(trained.steps[i].loss, kept.steps[i].loss);
      }
    }
  }
  EXPECT_TRUE(spill.names().empty());
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         Spilling,
                         testing::ValuesIn(kNetworks),
                         [](const auto& instance) { return instance.param.name; });

class SpillFolder : public testing::Test {
 protected:
  Scene scene;
  std::string model = scene.zoo({"mlp", "--size", "28", "--channels", "1", "--width", "1024"});
  std::string data = scene.images({.samples = 64, .size = 28, .classes = 10});
  support::Folder spill;
  Words run = {model,
               "--data",
               data,
               "--batch",
               "16",
               "--optimizer",
               "adam",
               "--lr",
               "0.001",
               "--spill",
               spill.path().string()};
};

// Sixteen MiB of parameters and twice that of moments, in a budget below.
TEST_F(SpillFolder, TheBudgetMayBeSmallerThanTheState) {
  const Json planned = plan(run + Words{"--budget", "1"});
  const std::int64_t smallest = planned.at("smallest_feasible_bytes");
  const Json fits = plan(run + Words{"--budget", std::to_string(smallest)});
  const std::int64_t file = fits.at("spill").at("file_bytes");
  EXPECT_GT(file, fits.at("arena_bytes").get<std::int64_t>());
}

TEST_F(SpillFolder, MicroBatchesShareTheState) {
  const Words parts = run + Words{"--micro-batch", "6", "--steps", "5"};
  const Trained roomy = train(scene, parts, "roomy.onnx");
  const std::int64_t smallest = smallest_budget(run + Words{"--micro-batch", "6"});
  const Trained tight = train(scene, parts + Words{"--budget", std::to_string(smallest)});
  EXPECT_GT(tight.result.at("plan").at("spilled").get<int>(), 0);
  EXPECT_TRUE(tight.bytes == roomy.bytes);
}

TEST_F(SpillFolder, TheLimitHolds) {
  const std::int64_t all = smallest_budget(run);
  const std::int64_t some = smallest_budget(run + Words{"--spill-limit", "16MiB"});
  const std::int64_t none = smallest_budget(run + Words{"--spill-limit", "0"});
  EXPECT_LT(all, some);
  EXPECT_LT(some, none);
  const Json limited =
      plan(run + Words{"--spill-limit", "16MiB", "--budget", std::to_string(some)});
  EXPECT_LE(limited.at("spill").at("file_bytes").get<std::int64_t>(), 16 << 20);
}

// Optimizer state lies in the file; passes that validate, or only sum gradients, do not read it.
TEST(SpilledState, PassesThatReadNoneOfItNeedNoTransfers) {
  const Scene scene;
  const support::Folder disk;
  const std::string net = scene.zoo(
      {"wrn", "--depth", "10", "--width", "1", "--size", "8", "--channels", "1", "--classes", "3"});
  const std::string samples = scene.images({.samples = 30, .size = 8});
  for (const char* const policy : {"keep", "chen", "superneurons", "lowtide"}) {
    const Words run = {net,    "--data",      samples, "--val-split",   "0.3", "--batch",
                       "7",    "--optimizer", "adam",  "--micro-batch", "1",   "--lr",
                       "0.01", "--steps",     "2",     "--policy",      policy};
    EXPECT_TRUE(train(scene, run + Words{"--spill", disk.path().string()}).bytes ==
                train(scene, run).bytes)
        << policy;
  }
}

TEST_F(SpillFolder, MustExist) {
  expect_refused(scene, {"train", model, "--data", data, "--spill", scene / "missing"},
                 {scene / "missing"});
}

// Killed in the middle of its steps: the folder is empty, as the file never had a name.
TEST_F(SpillFolder, IsEmptyAfterAKill) {
  const std::string log = scene / "log.jsonl";
  const auto steps = [&] {
    if (!std::filesystem::exists(log)) return std::ptrdiff_t{0};
    const std::string text = support::read_file(log);
    return std::count(text.begin(), text.end(), '\n');
  };
  const std::string smallest = std::to_string(smallest_budget(run));
  support::ChildProcess child(
      LOWTIDE_PROGRAM,
      Words{"train"} + run + Words{"--epochs", "1000000", "--budget", smallest, "--log", log});
  for (int i = 0; i < 600 && steps() < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_GE(steps(), 3);
  child.signal(SIGKILL);
  EXPECT_EQ(child.wait().exit_code, 128 + SIGKILL);
  EXPECT_TRUE(spill.names().empty());
}

}  // namespace
}  // namespace lowtide::e2e
