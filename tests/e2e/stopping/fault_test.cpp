// What the operating system refuses: a message that names it, and nothing lost.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"
#include "e2e/surface/event_files.h"

namespace lowtide::e2e {
namespace {

class Faults : public testing::Test {
 protected:
  // Trains with a fault (see support/preload/faults.cpp) and a checkpoint at every step.
  [[nodiscard]] Outcome train_with(const std::string& fault, const Words& more = {}) const {
    return lowtide(
        Words{"train"} + run + saved + more,
        {.environment = {std::string("LD_PRELOAD=") + LOWTIDE_FAULTS, "LOWTIDE_FAULT=" + fault,
                         "ASAN_OPTIONS=verify_asan_link_order=0"}});
  }

  // Goes on to the end without a fault: what comes out is what would have come without any.
  void expect_recovery() const {
    const Trained rest = train(scene, run + saved, "rest.onnx");
    EXPECT_TRUE(rest.bytes == whole.bytes);
    EXPECT_TRUE(support::read_file(ck) == support::read_file(scene / "whole.safetensors"));
    for (const std::string& name : scene.folder().names()) {
      EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
    }
  }

  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 22});
  std::string ck = scene / "run.safetensors";
  Words run = {model, "--data",     data,  "--batch", "8", "--lr",
               "0.1", "--momentum", "0.9", "--steps", "6"};
  Words saved = {"--checkpoint", ck, "--checkpoint-every", "1", "--resume", ck};
  Trained whole =
      train(scene,
            run + Words{"--checkpoint", scene / "whole.safetensors", "--checkpoint-every", "1"},
            "whole.onnx");
};

struct Failing {
  std::string name;
  std::string call;
  int first = 0;  // of the calls on the checkpoint
  int error = 0;
};

void PrintTo(const Failing& failing, std::ostream* out) { *out << failing.name; }

class FailingCalls : public Faults, public testing::WithParamInterface<Failing> {};

// The third checkpoint fails: training ends, and the second one is there to go on from.
TEST_P(FailingCalls, EndTrainingWithTheLastCheckpointWhole) {
  const Failing& failing = GetParam();
  const std::string fault =
      core::text("{} run.safetensors {} 1000000 {}", failing.call, failing.first, failing.error);
  const Outcome outcome = train_with(fault);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find(ck), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(std::strerror(failing.error)), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  const Outcome next = lowtide(Words{"train"} + run + saved);
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_NE(next.out.find("goes on from " + ck + " at step 2"), std::string::npos) << next.out;
  std::filesystem::remove(ck);
  std::filesystem::remove(ck + ".1");
  EXPECT_EQ(train_with(fault).exit_code, 1);
  expect_recovery();
}

// Each checkpoint takes 14 writes (the header, 12 tensors, the checksum), one sync and one
// temporary; the first is renamed into place, the others after the one before got its other name.
const Failing kFailing[] = {
    {"NoSpaceForTheHeader", "write", 29, ENOSPC},
    {"NoSpaceForATensor", "write", 35, ENOSPC},
    {"AnErrorAtTheChecksum", "write", 42, EIO},
    {"TooLarge", "write", 31, EFBIG},
    {"AFailedSync", "fsync", 3, EIO},
    {"AQuota", "fsync", 3, EDQUOT},
    {"NoOtherName", "rename", 4, EACCES},
    {"NoRename", "rename", 5, EACCES},
    {"AReadOnlyFolder", "open", 3, EROFS},
};

INSTANTIATE_TEST_SUITE_P(Checkpoints,
                         FailingCalls,
                         testing::ValuesIn(kFailing),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(Faults, ShortWritesAndInterruptedOnesAreContinued) {
  for (const int error : {0, EINTR}) {
    const Outcome outcome = train_with(core::text("write run.safetensors 1 5 {}", error));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_recovery();
    std::filesystem::remove(ck);
    std::filesystem::remove(ck + ".1");
  }
}

TEST_F(Faults, UnreadableDataEndsTrainingAndTheStateIsSaved) {
  const Outcome outcome = train_with(core::text("pread images.npz 60 1000000 {}", EIO));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("images.npz"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(std::strerror(EIO)), std::string::npos) << outcome.err;
  expect_recovery();
}

TEST_F(Faults, ATrainedModelThatCannotBeWrittenIsNotLost) {
  const std::string out = scene / "trained.onnx";
  for (const char* const call : {"write", "fsync", "rename"}) {
    SCOPED_TRACE(call);
    const Outcome outcome =
        train_with(core::text("{} trained.onnx 1 1000000 {}", call, ENOSPC), {"-o", out});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find(out), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(std::strerror(ENOSPC)), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out));
    // The checkpoint of the last step is there; the same command writes the model.
    EXPECT_EQ(lowtide(Words{"train"} + run + saved + Words{"-o", out}).exit_code, 0);
    EXPECT_TRUE(support::read_file(out) == whole.bytes);
    for (const std::string& name : {out, ck, ck + ".1"}) std::filesystem::remove(name);
  }
}

TEST_F(Faults, AnUnreadableCheckpointIsRefused) {
  ASSERT_EQ(lowtide(Words{"train"} + run + saved).exit_code, 0);
  const Outcome outcome = train_with(core::text("pread run.safetensors 1 1000000 {}", EIO));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find(ck), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(std::strerror(EIO)), std::string::npos) << outcome.err;
}

TEST_F(Faults, AClockThatJumpsChangesNothing) {
  const Outcome outcome = train_with("clock", {"--log", scene / "log.jsonl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_log(scene / "log.jsonl").size(), 6U);
  expect_recovery();
}

// The disk is full at the fourth step: the events of three and the state after four are there.
TEST_F(Faults, AnEventFileThatCannotBeWrittenEndsTrainingAndNothingIsLost) {
  const std::string folder = scene / "events";
  const Outcome outcome =
      train_with(core::text("write tfevents 6 1000000 {}", ENOSPC), {"--tensorboard", folder});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("tfevents"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(std::strerror(ENOSPC)), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(ck + " holds step 4"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_event_folder(folder).at("train/loss").size(), 3U);
  expect_recovery();
}

TEST_F(Faults, ShortWritesOfEventsAreContinued) {
  const std::string folder = scene / "events";
  EXPECT_EQ(train_with("write tfevents 1 20 0", {"--tensorboard", folder}).exit_code, 0);
  EXPECT_EQ(read_event_folder(folder).at("train/loss").size(), 6U);
}

TEST_F(Faults, AFolderThatCannotBeWrittenIsRefusedBeforeTheFirstStep) {
  const Outcome outcome =
      lowtide(Words{"train"} + run + Words{"--checkpoint", scene / "none/run.safetensors"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("there is no folder"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lowtide::e2e
