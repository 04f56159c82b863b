// Training as a process: signals, threads, and a loss that leaves the numbers.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using support::ChildProcess;

class Process : public testing::Test {
 protected:
  [[nodiscard]] Words endless(const Words& options = {}) const {
    return Words{"train",   model,       "--data", data, "--batch",          "4",
                 "--steps", "100000000", "--json", "-o", scene / "out.onnx", "--log",
                 log} +
           options;
  }

  void wait_for_steps() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!std::filesystem::exists(log) || std::filesystem::file_size(log) == 0) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no step ran");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // Threads of a training process that has made its first step.
  [[nodiscard]] int threads_of(const Words& options, const support::Surroundings& where) const {
    std::filesystem::remove(log);
    const ChildProcess process(LOWTIDE_PROGRAM, endless(options), where);
    wait_for_steps();
    return process.threads();
  }

  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 64});
  std::string log = scene / "log.jsonl";
};

TEST_F(Process, AnInterruptedRunSavesWhatItHas) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(log);
    std::filesystem::remove(scene / "out.onnx");
    ChildProcess process(LOWTIDE_PROGRAM, endless());
    wait_for_steps();
    process.signal(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const Json result = Json::parse(outcome.out);
    const std::int64_t steps = result.at("steps");
    EXPECT_GE(steps, 1);
    EXPECT_EQ(static_cast<std::int64_t>(read_log(log).size()), steps);
    // The file holds the weights after exactly those steps.
    const Trained again =
        train(scene, {model, "--data", data, "--batch", "4", "--steps", std::to_string(steps)},
              "again.onnx");
    EXPECT_TRUE(support::read_file(scene / "out.onnx") == again.bytes);
  }
}

// By default no more threads than CPUs that the process may use.
TEST_F(Process, ThreadsFollowTheAffinityMask) {
  // Large enough that every thread gets its share.
  model = scene.zoo({"mlp", "--size", "4", "--channels", "1", "--width", "1024"});
  const int one = threads_of({"--threads", "1"}, {});
  EXPECT_EQ(threads_of({}, {.cpus = {0}}), one);
  EXPECT_EQ(threads_of({}, {.cpus = {0}, .environment = {"OMP_NUM_THREADS=2"}}), one);
  EXPECT_EQ(threads_of({"--threads", "3"}, {}), one + 2);
}

TEST_F(Process, ALossThatLeavesTheNumbersEndsTheRunWithoutAFile) {
  const Outcome outcome = lowtide({"train", model, "--data", data, "--batch", "4", "--steps", "50",
                                   "--lr", "1e30", "-o", scene / "out.onnx"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("step "), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(scene / "out.onnx"));
}

// An earlier output survives a run that fails.
TEST_F(Process, AFailedRunLeavesTheOldOutput) {
  const Trained good = train(scene, {model, "--data", data, "--batch", "4"});
  const Outcome outcome = lowtide({"train", model, "--data", data, "--batch", "4", "--steps", "50",
                                   "--lr", "1e30", "-o", good.model});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(support::read_file(good.model) == good.bytes);
}

}  // namespace
}  // namespace lowtide::e2e
