// Training that is killed at any moment goes on from its last checkpoint as if nothing had
// happened.
//   LOWTIDE_KILL_ROUNDS=200 build/release/tests/e2e/e2e_test --gtest_filter='Killing.*'
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "core/random.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using Clock = std::chrono::steady_clock;

int rounds(int standard) {
  const char* const wanted = std::getenv("LOWTIDE_KILL_ROUNDS");
  return wanted == nullptr ? standard : std::atoi(wanted);
}

// The step of the checkpoint that a run says it goes on from.
std::int64_t resumed_step(const Outcome& outcome) {
  const std::string words = " at step ";
  const std::size_t at = outcome.out.find(words);
  return at == std::string::npos ? 0 : std::atoll(outcome.out.c_str() + at + words.size());
}

// Where disks are slow, a step that spills and saves takes a second.
struct Way {
  std::string name;
  bool spills = false;
  int steps = 30;
  int rounds = 9;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class Killing : public testing::TestWithParam<Way> {};

// Megabytes of state, saved after every step, so that kills also fall into saving. Less than eight
// would not be spilled.
TEST_P(Killing, LosesNothingButTheStepsSinceTheLastCheckpoint) {
  const Scene scene;
  const std::string model = scene.zoo({"mlp", "--size", "28", "--channels", "1", "--width",
                                       GetParam().spills ? "512" : "160", "--classes", "3"});
  const std::string data = scene.images({.samples = 22, .size = 28});
  const std::string ck = scene / "run.safetensors";
  Words run = {model,
               "--data",
               data,
               "--batch",
               "8",
               "--optimizer",
               "adam",
               "--lr",
               "0.001",
               "--steps",
               std::to_string(GetParam().steps)};
  const Words saved = {"--checkpoint", ck, "--checkpoint-every", "1", "--resume", ck};
  if (GetParam().spills) {
    run = run + Words{"--spill", scene.folder().path().string()};
    run = run + Words{"--budget", std::to_string(smallest_budget(run + saved))};
  }
  const auto start = Clock::now();
  const Trained whole =
      train(scene, run + Words{"--checkpoint", scene / "whole.ck", "--checkpoint-every", "1"},
            "whole.onnx");
  if (GetParam().spills) {
    ASSERT_GT(whole.result.at("plan").at("spilled"), 0);
  }
  const double whole_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  core::RandomStream random(3, GetParam().spills ? 1 : 0);
  std::int64_t reached = 0;
  for (int round = 0; round < rounds(GetParam().rounds); ++round) {
    support::ChildProcess process(LOWTIDE_PROGRAM, Words{"train"} + run + saved);
    std::this_thread::sleep_for(std::chrono::duration<double>(whole_seconds * random.uniform()));
    process.signal(SIGKILL);
    const Outcome outcome = process.wait();
    ASSERT_TRUE(outcome.exit_code == 128 + SIGKILL || outcome.exit_code == 0) << outcome.err;
    // Steps only ever come to be more.
    const std::int64_t step = resumed_step(outcome);
    if (step != 0) {
      EXPECT_GE(step, reached);
    }
    reached = std::max(reached, step);
    if (outcome.exit_code == 0) {
      std::filesystem::remove(ck);
      std::filesystem::remove(ck + ".1");
      reached = 0;
    }
  }
  const Trained rest = train(scene, run + saved, "rest.onnx");
  EXPECT_TRUE(rest.bytes == whole.bytes);
  EXPECT_TRUE(support::read_file(ck) == support::read_file(scene / "whole.ck"));
  for (const std::string& name : scene.folder().names()) {
    EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         Killing,
                         testing::Values(Way{"InMemory"}, Way{"WithASpillFile", true, 10, 3}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace lowtide::e2e
