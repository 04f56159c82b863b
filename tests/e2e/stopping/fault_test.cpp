// What the operating system refuses: a message that names it, and nothing lost.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/stopping/faulty_run.h"

namespace lowtide::e2e {
namespace {

class Faults : public testing::Test {
 protected:
  Scene scene;
  FaultyRun run{scene,
                {scene.small_network(), "--data", scene.images({.samples = 22}), "--batch", "8",
                 "--lr", "0.1", "--momentum", "0.9", "--steps", "6"},
                1};
  std::string ck = run.checkpoint();
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
  FaultyRun::expect_failure(run.train_with(fault), {ck, std::strerror(failing.error)});
  const Outcome next = lowtide(Words{"train"} + run.words());
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_NE(next.out.find("goes on from " + ck + " at step 2"), std::string::npos) << next.out;
  run.forget();
  EXPECT_EQ(run.train_with(fault).exit_code, 1);
  run.expect_recovery();
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

// The renames are done by then: the third checkpoint is there, and may be gone after a power cut.
TEST_F(Faults, AFolderThatCannotBeSyncedEndsTraining) {
  const std::string folder = scene.folder().path().filename().string();
  FaultyRun::expect_failure(run.train_with(core::text("fsync {} 6 1 {}", folder, EIO)),
                            {ck, "stays in its folder", std::strerror(EIO)});
  const Outcome next = lowtide(Words{"train"} + run.words());
  EXPECT_NE(next.out.find("at step 3"), std::string::npos) << next.out;
  run.expect_recovery();
}

// As some file systems are.
TEST_F(Faults, AFolderThatHasNoSyncOrSecondNamesWillDo) {
  const std::string folder = scene.folder().path().filename().string();
  for (const std::string& fault : {core::text("link run.safetensors 1 1000000 {}", EPERM),
                                   core::text("open {} 1 1000000 {}", folder + "$", EACCES)}) {
    const Outcome outcome = run.train_with(fault);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    run.expect_recovery();
  }
}

TEST_F(Faults, ShortWritesAndInterruptedOnesAreContinued) {
  for (const char* const call : {"write", "fsync"}) {
    for (const int error : {0, EINTR}) {
      if (call[0] == 'f' && error == 0) continue;
      const Outcome outcome = run.train_with(core::text("{} run.safetensors 1 5 {}", call, error));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      run.expect_recovery();
    }
  }
}

TEST_F(Faults, UnreadableDataEndsTrainingAndTheStateIsSaved) {
  FaultyRun::expect_failure(run.train_with(core::text("pread images.npz 60 1000000 {}", EIO)),
                            {"images.npz", std::strerror(EIO)});
  run.expect_recovery();
}

TEST_F(Faults, ATrainedModelThatCannotBeWrittenIsNotLost) {
  const std::string out = scene / "trained.onnx";
  for (const char* const call : {"write", "fsync", "rename"}) {
    SCOPED_TRACE(call);
    FaultyRun::expect_failure(
        run.train_with(core::text("{} trained.onnx 1 1000000 {}", call, ENOSPC), {"-o", out}),
        {out, std::strerror(ENOSPC)});
    EXPECT_FALSE(std::filesystem::exists(out));
    // The checkpoint of the last step is there; the same command writes the model.
    EXPECT_EQ(lowtide(Words{"train"} + run.words() + Words{"-o", out}).exit_code, 0);
    EXPECT_TRUE(support::read_file(out) == run.whole().bytes);
    std::filesystem::remove(out);
    run.forget();
  }
}

TEST_F(Faults, AnUnreadableCheckpointIsRefused) {
  ASSERT_EQ(lowtide(Words{"train"} + run.words()).exit_code, 0);
  FaultyRun::expect_failure(run.train_with(core::text("pread run.safetensors 1 1000000 {}", EIO)),
                            {ck, std::strerror(EIO)});
}

TEST_F(Faults, AClockThatJumpsChangesNothing) {
  const Outcome outcome = run.train_with("clock", {"--log", scene / "log.jsonl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_log(scene / "log.jsonl").size(), 6U);
  run.expect_recovery();
}

TEST_F(Faults, AFolderThatCannotBeWrittenIsRefusedBeforeTheFirstStep) {
  const Outcome outcome = lowtide({"train", scene.small_network(), "--data", scene.images(),
                                   "--checkpoint", scene / "none/run.safetensors"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("there is no folder"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lowtide::e2e
