// Thousands of damaged checkpoints: each is refused with a reason, or is the one that was written.
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/random.h"
#include "support/folder.h"
#include "support/hostile.h"
#include "train/small_checkpoint.h"

namespace lowtide::train {
namespace {

TEST(HostileCheckpoints, AreRefusedOrWhole) {
  const support::Folder folder;
  const std::string path = folder / "run.safetensors";
  write_small_checkpoint(path, 1, 5);
  const std::string whole = support::read_file(path);
  core::RandomStream random = support::hostile_stream(11);
  int refused = 0;
  const int rounds = support::hostile_rounds(4000);
  for (int i = 0; i < rounds; ++i) {
    const std::string bytes = support::damaged(whole, random);
    support::write_file(path, bytes);
    const support::Patience patience(i);
    try {
      const CheckpointFile file = CheckpointFile::open(path);
      EXPECT_EQ(bytes, whole) << i;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << i << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, rounds * 9 / 10);
  EXPECT_LT(support::peak_memory(), Bytes(1 << 29));
}

// The header's own length decides how much is read; it must not decide how much is reserved.
TEST(HostileCheckpoints, WithALengthPastTheirEndAreRefused) {
  const support::Folder folder;
  const std::string path = folder / "run.safetensors";
  write_small_checkpoint(path, 1, 5);
  std::string bytes = support::read_file(path);
  for (std::size_t bit = 12; bit < 64; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] | (1 << (bit % 8)));
    support::write_file(path, changed);
    EXPECT_THROW(CheckpointFile::open(path), Error) << bit;
  }
}

}  // namespace
}  // namespace lowtide::train
