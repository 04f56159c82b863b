// A disk that fails under the spill file, or under the data: a message that names it and the last
// checkpoint whole, or a recovery that leaves no trace in the weights.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

const std::string kPreload = std::string("LD_PRELOAD=") + LOWTIDE_FAULTS;

class SpillFaults : public testing::Test {
 protected:
  [[nodiscard]] Outcome train_with(const std::string& fault, const Words& environment = {}) const {
    return lowtide(Words{"train"} + run + saved,
                   {.environment = Words{kPreload, "LOWTIDE_FAULT=" + fault,
                                         "ASAN_OPTIONS=verify_asan_link_order=0"} +
                                   environment});
  }

  // A fault on the spill file, which has no name beyond its folder's.
  [[nodiscard]] std::string fault(const std::string& call,
                                  long first,
                                  long count,
                                  int error) const {
    return core::text("{} {}/# {} {} {}", call, spill.path().filename().string(), first, count,
                      error);
  }

  // How often a run makes that call on the spill file.
  [[nodiscard]] long calls(const std::string& call) const {
    const std::string count = scene / "count";
    const Outcome outcome =
        train_with(fault(call, 1L << 40, 1, EIO), {"LOWTIDE_FAULT_COUNT=" + count});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    forget();
    return std::stol(support::read_file(count));
  }

  void forget() const {
    for (const char* const age : {"", ".1"}) std::filesystem::remove(ck + age);
  }

  // What comes out in the end is what would have come without any fault.
  void expect_recovery() const {
    const Trained rest = train(scene, run + saved, "rest.onnx");
    EXPECT_TRUE(rest.bytes == whole.bytes);
    EXPECT_TRUE(spill.names().empty());
    forget();
  }

  Scene scene;
  support::Folder spill;
  std::string model =
      scene.zoo({"mlp", "--size", "28", "--channels", "1", "--width", "512", "--classes", "3"});
  std::string data = scene.images({.samples = 22, .size = 28});
  std::string ck = scene / "run.safetensors";
  Words saved = {"--checkpoint", ck, "--checkpoint-every", "2", "--resume", ck};
  Words base = {model,
                "--data",
                data,
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
  Words run = base + Words{"--budget", std::to_string(smallest_budget(base + saved))};
  Trained whole = train(scene, run, "whole.onnx");
};

TEST_F(SpillFaults, AFailingDiskEndsTrainingWithTheLastCheckpointWhole) {
  for (const char* const call : {"pwrite", "pread"}) {
    const long all = calls(call);
    ASSERT_GT(all, 60) << call << ": nothing is spilled";
    for (const int error : {EIO, call[1] == 'w' ? ENOSPC : EBADMSG}) {
      SCOPED_TRACE(core::text("{}: {}", call, std::strerror(error)));
      // Late enough that checkpoints are there.
      const Outcome outcome = train_with(fault(call, all * 2 / 3, 1000000, error));
      EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
      EXPECT_NE(outcome.err.find("spill file in " + spill.path().string()), std::string::npos)
          << outcome.err;
      EXPECT_NE(outcome.err.find(std::strerror(error)), std::string::npos) << outcome.err;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
      EXPECT_TRUE(std::filesystem::exists(ck));
      EXPECT_TRUE(spill.names().empty());
      expect_recovery();
    }
  }
}

TEST_F(SpillFaults, AFileThatEndsEarlyEndsTraining) {
  const Outcome outcome = train_with(fault("pread", calls("pread") * 2 / 3, 1000000, -1));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot fetch"), std::string::npos) << outcome.err;
  expect_recovery();
}

TEST_F(SpillFaults, ShortTransfersAndInterruptedOnesAreContinued) {
  for (const char* const call : {"pwrite", "pread"}) {
    for (const int error : {0, EINTR}) {
      SCOPED_TRACE(core::text("{} {}", call, error));
      // Every one of them short; a few in a row interrupted.
      const Outcome outcome =
          train_with(fault(call, error == 0 ? 1 : 50, error == 0 ? 1000000 : 5, error));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      expect_recovery();
    }
  }
}

TEST_F(SpillFaults, ADiskThatIsFullIsKnownBeforeTheFirstStep) {
  const Outcome outcome = train_with(fault("posix_fallocate", 1, 1, ENOSPC));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("spill file in " + spill.path().string() + ": cannot reserve"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find(std::strerror(ENOSPC)), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(ck));
}

// As file systems without O_TMPFILE answer.
TEST_F(SpillFaults, AFileThatNeedsANameForAMomentLeavesNone) {
  const Outcome outcome =
      train_with(core::text("open {} 1 1 {}", spill.path().filename().string(), EOPNOTSUPP));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_recovery();
}

// Two runs share the folder and nothing else.
TEST_F(SpillFaults, TwoRunsMaySpillToOneFolder) {
  const auto start = [&](const std::string& out) {
    return support::ChildProcess(LOWTIDE_PROGRAM, Words{"train"} + run + Words{"-o", scene / out});
  };
  support::ChildProcess one = start("one.onnx");
  support::ChildProcess two = start("two.onnx");
  EXPECT_EQ(one.wait().exit_code, 0);
  EXPECT_EQ(two.wait().exit_code, 0);
  EXPECT_TRUE(support::read_file(scene / "one.onnx") == whole.bytes);
  EXPECT_TRUE(support::read_file(scene / "two.onnx") == whole.bytes);
}

}  // namespace
}  // namespace lowtide::e2e
