// Checkpoint files: kept, rotated, and refused where they are not what was written.
#include "train/checkpoint/checkpoint_file.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/random.h"
#include "support/folder.h"
#include "train/small_checkpoint.h"

namespace lowtide::train {
namespace {

class CheckpointFiles : public testing::Test {
 protected:
  // What opening says; empty where it succeeds.
  [[nodiscard]] std::string refusal() const {
    try {
      CheckpointFile::open(path);
      return "";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      return error.what();
    }
  }

  support::Folder folder;
  std::string path = folder / "run.safetensors";
};

TEST_F(CheckpointFiles, HoldWhatWasWritten) {
  write_small_checkpoint(path, 0.25F, 3);
  const CheckpointFile file = CheckpointFile::open(path);
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.number("step"), 3);
  EXPECT_EQ(file.record().at("seed"), "7");
  EXPECT_EQ(read_small_checkpoint(file, "weight"), std::vector<float>(15, 0.25F));
  EXPECT_EQ(read_small_checkpoint(file, "bias"), std::vector<float>(5, 0.25F));
}

TEST_F(CheckpointFiles, KeepTheOnesBeforeThem) {
  for (int step = 1; step <= 5; ++step) {
    write_small_checkpoint(path, static_cast<float>(step), step, {.keep = 3});
  }
  EXPECT_EQ(CheckpointFile::open(path).number("step"), 5);
  EXPECT_EQ(CheckpointFile::open(path + ".1").number("step"), 4);
  EXPECT_EQ(CheckpointFile::open(path + ".2").number("step"), 3);
  EXPECT_EQ(folder.names().size(), 3U);
}

TEST_F(CheckpointFiles, ReplaceWhatIsNotKnownToBeGood) {
  write_small_checkpoint(path, 1, 1);
  write_small_checkpoint(path, 2, 2);
  support::write_file(path, "damaged");
  write_small_checkpoint(path, 3, 3, {.keep = 2, .rotate = false});
  EXPECT_EQ(CheckpointFile::open(path).number("step"), 3);
  EXPECT_EQ(CheckpointFile::open(path + ".1").number("step"), 1);
}

TEST_F(CheckpointFiles, OfOneOnlyLeaveNoOthers) {
  for (int step = 1; step <= 3; ++step) write_small_checkpoint(path, 1, step, {.keep = 1});
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST_F(CheckpointFiles, AreNotMadeOfASpoiltState) {
  write_small_checkpoint(path, 1, 1);
  const std::string before = support::read_file(path);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW(write_small_checkpoint(path, bad, 2), Error);
  }
  EXPECT_EQ(support::read_file(path), before);
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST_F(CheckpointFiles, ThatAreCutAreRefused) {
  write_small_checkpoint(path, 1, 1);
  const std::string whole = support::read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    support::write_file(path, whole.substr(0, length));
    EXPECT_NE(refusal(), "") << length;
  }
  support::write_file(path, whole + '\0');
  EXPECT_NE(refusal().find("follow"), std::string::npos);
}

TEST_F(CheckpointFiles, WithOneBitFlippedAreRefused) {
  write_small_checkpoint(path, 1, 1);
  const std::string whole = support::read_file(path);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    support::write_file(path, changed);
    EXPECT_NE(refusal(), "") << bit;
  }
}

TEST_F(CheckpointFiles, ThatAreBadNameAGoodOneBeforeThem) {
  write_small_checkpoint(path, 1, 41);
  write_small_checkpoint(path, 2, 42);
  const std::string whole = support::read_file(path);
  support::write_file(path, whole.substr(0, whole.size() / 2));
  EXPECT_NE(refusal().find(path + ".1, of step 41"), std::string::npos) << refusal();
  std::filesystem::remove(path);
  EXPECT_NE(refusal().find(path + ".1, of step 41"), std::string::npos) << refusal();
  support::write_file(path + ".1", "no better");
  EXPECT_EQ(refusal().find("older"), std::string::npos) << refusal();
}

TEST_F(CheckpointFiles, OfANewerVersionAreRefusedByIt) {
  write_small_checkpoint(path, 1, 1);
  std::string bytes = support::read_file(path);
  const std::string version = R"("lowtide.checkpoint":"1")";
  bytes.replace(bytes.find(version), version.size(), R"("lowtide.checkpoint":"2")");
  support::write_file(path, bytes);
  EXPECT_NE(refusal().find("version 2; this program reads 1"), std::string::npos) << refusal();
}

TEST_F(CheckpointFiles, OfAnotherKindAreRefused) {
  const std::string header = safetensors_header({}, {});
  support::write_file(path, header);
  EXPECT_NE(refusal().find("no checkpoint"), std::string::npos) << refusal();
  support::write_file(path, "PK\x03\x04 an archive, say");
  EXPECT_NE(refusal().find("no safetensors file"), std::string::npos) << refusal();
  std::filesystem::remove(path);
  EXPECT_NE(refusal().find("No such file"), std::string::npos) << refusal();
  std::filesystem::create_directory(path);
  EXPECT_NE(refusal().find("not a regular file"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace lowtide::train
