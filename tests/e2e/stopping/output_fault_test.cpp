// Faults on what a run writes besides its checkpoints and its model, and on what it keeps for a
// while: nothing is lost, and what only helps may fail without a word.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/stopping/faulty_run.h"
#include "e2e/surface/event_files.h"

namespace lowtide::e2e {
namespace {

namespace fs = std::filesystem;

class OutputFaults : public testing::Test {
 protected:
  Scene scene;
  std::string data = scene.images({.samples = 22});
  FaultyRun run{scene,
                {scene.small_network(), "--data", data, "--batch", "8", "--lr", "0.1", "--steps",
                 "6", "--val", data, "--eval-every", "1", "--ema", "0.5"},
                1};
};

// The disk is full at the fourth step: the events of three and the state after four are there.
TEST_F(OutputFaults, AnEventFileThatCannotBeWrittenEndsTraining) {
  const std::string folder = scene / "events";
  FaultyRun::expect_failure(
      run.train_with(core::text("write tfevents 6 1000000 {}", ENOSPC), {"--tensorboard", folder}),
      {"tfevents", std::strerror(ENOSPC), run.checkpoint() + " holds step 4"});
  EXPECT_EQ(read_event_folder(folder).at("train/loss").size(), 3U);
  run.expect_recovery();
}

TEST_F(OutputFaults, ALogThatCannotBeWrittenEndsTraining) {
  const std::string log = scene / "log.jsonl";
  for (const int error : {ENOSPC, EIO}) {
    FaultyRun::expect_failure(
        run.train_with(core::text("write log.jsonl 4 1000000 {}", error), {"--log", log}),
        {log + ": cannot write the log", std::strerror(error), " holds step 4"});
    EXPECT_EQ(read_log(log).size(), 3U);
    run.expect_recovery();
  }
}

TEST_F(OutputFaults, ShortWritesOfLogsAndEventsAreContinued) {
  const std::string folder = scene / "events";
  const std::string log = scene / "log.jsonl";
  const Words more = {"--tensorboard", folder, "--log", log};
  for (const char* const name : {"tfevents", "log.jsonl"}) {
    for (const int error : {0, EINTR}) {
      const Outcome outcome = run.train_with(core::text("write {} 1 20 {}", name, error), more);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(read_event_folder(folder).at("train/loss").size(), 6U);
      EXPECT_EQ(read_log(log).size(), 6U);
      fs::remove_all(folder);
      run.expect_recovery();
    }
  }
}

// The one before stays; after going on, the best is the one of a run without faults.
TEST_F(OutputFaults, ABestModelThatCannotBeWrittenLeavesTheOneBefore) {
  const std::string best = scene / "best.onnx";
  const Words more = {"--keep-best", best};
  ASSERT_EQ(run.train_with("none", more).exit_code, 0);
  const std::string wanted = support::read_file(best);
  for (const char* const call : {"write", "fsync", "rename"}) {
    SCOPED_TRACE(call);
    run.forget();
    fs::remove(best);
    const std::string count = scene / "count";
    ASSERT_EQ(run.train_with(core::text("{} best.onnx {} 1 1", call, 1L << 40), more,
                             {"LOWTIDE_FAULT_COUNT=" + count})
                  .exit_code,
              0);
    const long all = std::stol(support::read_file(count));
    ASSERT_GT(all, 1) << "there is one best model only";
    fs::remove(count);
    run.forget();
    FaultyRun::expect_failure(
        run.train_with(core::text("{} best.onnx {} 1000000 {}", call, all, ENOSPC), more),
        {best, std::strerror(ENOSPC), " holds step "});
    EXPECT_TRUE(fs::exists(best));
    EXPECT_EQ(lowtide({"inspect", best}).exit_code, 0);
    ASSERT_EQ(lowtide(Words{"train"} + run.words() + more).exit_code, 0);
    EXPECT_TRUE(support::read_file(best) == wanted);
  }
  run.forget();
  run.expect_recovery();
}

TEST_F(OutputFaults, PagesAndTracesThatCannotBeWrittenLeaveNoHalfOnes) {
  for (const auto& [option, name] :
       {std::pair{"--report", "page.html"}, std::pair{"--trace", "trace.json"}}) {
    for (const char* const call : {"write", "rename"}) {
      SCOPED_TRACE(core::text("{} {}", option, call));
      FaultyRun::expect_failure(run.train_with(core::text("{} {} 1 1000000 {}", call, name, ENOSPC),
                                               {option, scene / name}),
                                {scene / name, std::strerror(ENOSPC)});
      EXPECT_FALSE(fs::exists(scene / name));
      run.expect_recovery();  // training was over
    }
  }
}

TEST_F(OutputFaults, ACostCacheThatFailsIsAsIfThereWereNone) {
  const std::string cache = scene / "costs.json";
  const Words more = {"--costs", "measured", "--cost-cache", cache};
  for (const std::string& fault : {core::text("write costs.json 1 1000000 {}", ENOSPC),
                                   core::text("rename costs.json 1 1000000 {}", EACCES),
                                   core::text("open costs.json 1 1000000 {}", EACCES),
                                   core::text("pread costs.json 1 1000000 {}", EIO)}) {
    SCOPED_TRACE(fault);
    const Outcome outcome = run.train_with(fault, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    run.expect_recovery();
  }
}

// Compressed data is unpacked where there may be no room.
TEST_F(OutputFaults, ATemporaryFileThatFailsIsNamed) {
  const support::Folder temp;
  const std::string table = scene / "table.csv";
  std::string text = "label";
  for (int i = 0; i < 16; ++i) text += core::text(",x{}", i);
  for (int row = 0; row < 30; ++row) {
    text += core::text("\n{}", row % 3);
    for (int i = 0; i < 16; ++i) text += core::text(",{}", (row * i) % 7);
  }
  support::write_file(table, text + "\n");
  const Words words = {
      "train",
      scene.zoo({"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"}),
      "--data",
      table,
      "--temp",
      temp.path().string(),
      "--steps",
      "3"};
  const std::string folder = temp.path().filename().string();
  const auto train_with = [&](const std::string& fault) {
    return lowtide(words, {.environment = {std::string("LD_PRELOAD=") + LOWTIDE_FAULTS,
                                           "LOWTIDE_FAULT=" + fault,
                                           "ASAN_OPTIONS=verify_asan_link_order=0"}});
  };
  for (const auto& [call, error] :
       {std::pair{"pwrite", ENOSPC}, std::pair{"pwrite", EDQUOT}, std::pair{"pread", EIO}}) {
    SCOPED_TRACE(call);
    FaultyRun::expect_failure(train_with(core::text("{} {} 1 1000000 {}", call, folder, error)),
                              {std::strerror(error)});
    EXPECT_TRUE(temp.names().empty());
  }
  for (const char* const call : {"pwrite", "pread"}) {
    EXPECT_EQ(train_with(core::text("{} {} 1 1000000 0", call, folder)).exit_code, 0) << call;
  }
}

}  // namespace
}  // namespace lowtide::e2e
