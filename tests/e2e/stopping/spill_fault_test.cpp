// A disk that fails under the spill file, or under the data: a message that names it and the last
// checkpoint whole, or a recovery that leaves no trace in the weights.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/stopping/faulty_run.h"

namespace lowtide::e2e {
namespace {

// A run that can only spill, within the smallest budget.
Words spilling(const Scene& scene, const support::Folder& spill) {
  const Words base = {
      scene.zoo({"mlp", "--size", "28", "--channels", "1", "--width", "512", "--classes", "3"}),
      "--data",
      scene.images({.samples = 22, .size = 28}),
      "--batch",
      "8",
      "--optimizer",
      "adam",
      "--lr",
      "0.001",
      "--steps",
      "12",
      "--micro-batch",
      "8",
      "--policy",
      "keep",
      "--spill",
      spill.path().string()};
  const Words saved = {"--checkpoint", scene / "any.safetensors"};
  return base + Words{"--budget", std::to_string(smallest_budget(base + saved))};
}

class SpillFaults : public testing::Test {
 protected:
  // The spill file has no name beyond its folder's.
  [[nodiscard]] std::string fault(const std::string& call,
                                  long first,
                                  long count,
                                  int error) const {
    return core::text("{} {} {} {} {}", call, pattern, first, count, error);
  }

  void expect_recovery() const {
    EXPECT_TRUE(spill.names().empty());
    run.expect_recovery();
  }

  Scene scene;
  support::Folder spill;
  std::string pattern = spill.path().filename().string();
  FaultyRun run{scene, spilling(scene, spill), 2};
};

TEST_F(SpillFaults, AFailingDiskEndsTrainingWithTheLastCheckpointWhole) {
  for (const char* const call : {"pwrite", "pread"}) {
    const long all = run.calls(call, pattern);
    ASSERT_GT(all, 60) << call << ": nothing is spilled";
    for (const int error : {EIO, call[1] == 'w' ? ENOSPC : EBADMSG}) {
      SCOPED_TRACE(core::text("{}: {}", call, std::strerror(error)));
      // Late enough that checkpoints are there. Plans differ between processes as the rates do that
      // these find, and so do the calls before the first checkpoint and before the end.
      long first = all * 2 / 3;
      Outcome outcome = run.train_with(fault(call, first, 1000000, error));
      for (int tries = 0; tries < 8; ++tries) {
        if (outcome.exit_code != 0 && std::filesystem::exists(run.checkpoint())) break;
        first = outcome.exit_code == 0 ? first * 4 / 5 : first * 6 / 5;
        outcome = run.train_with(fault(call, first, 1000000, error));
      }
      FaultyRun::expect_failure(outcome,
                                {"spill file in " + spill.path().string(), std::strerror(error)});
      EXPECT_TRUE(std::filesystem::exists(run.checkpoint()));
      expect_recovery();
    }
  }
}

TEST_F(SpillFaults, AFileThatEndsEarlyEndsTraining) {
  const Outcome outcome =
      run.train_with(fault("pread", run.calls("pread", pattern) * 2 / 3, 1000000, -1));
  FaultyRun::expect_failure(outcome, {"cannot fetch"});
  expect_recovery();
}

TEST_F(SpillFaults, ShortTransfersAndInterruptedOnesAreContinued) {
  for (const char* const call : {"pwrite", "pread"}) {
    for (const int error : {0, EINTR}) {
      SCOPED_TRACE(core::text("{} {}", call, error));
      // Every one of them short; a few in a row interrupted.
      const Outcome outcome =
          run.train_with(fault(call, error == 0 ? 1 : 50, error == 0 ? 1000000 : 5, error));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      expect_recovery();
    }
  }
}

TEST_F(SpillFaults, ADiskThatIsFullIsKnownBeforeTheFirstStep) {
  const Outcome outcome = run.train_with(fault("posix_fallocate", 1, 1, ENOSPC));
  FaultyRun::expect_failure(outcome, {"spill file in " + spill.path().string() + ": cannot reserve",
                                      std::strerror(ENOSPC)});
  EXPECT_FALSE(std::filesystem::exists(run.checkpoint()));
}

// As file systems without O_TMPFILE answer.
TEST_F(SpillFaults, AFileThatNeedsANameForAMomentLeavesNone) {
  const Outcome outcome =
      run.train_with(core::text("open {} 1 1 {}", spill.path().filename().string(), EOPNOTSUPP));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_recovery();
}

// Two runs share the folder and nothing else.
TEST_F(SpillFaults, TwoRunsMaySpillToOneFolder) {
  const Words words = spilling(scene, spill);
  const auto start = [&](const std::string& out) {
    return support::ChildProcess(LOWTIDE_PROGRAM,
                                 Words{"train"} + words + Words{"-o", scene / out});
  };
  support::ChildProcess one = start("one.onnx");
  support::ChildProcess two = start("two.onnx");
  EXPECT_EQ(one.wait().exit_code, 0);
  EXPECT_EQ(two.wait().exit_code, 0);
  EXPECT_TRUE(support::read_file(scene / "one.onnx") == run.whole().bytes);
  EXPECT_TRUE(support::read_file(scene / "two.onnx") == run.whole().bytes);
}

}  // namespace
}  // namespace lowtide::e2e
