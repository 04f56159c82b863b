// Thousands of damaged checkpoints: each is refused with a reason, or is the one that was written.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/random.h"
#include "support/folder.h"
#include "train/small_checkpoint.h"

namespace lowtide::train {
namespace {

// Changes that keep a file plausible: bits, bytes, digits, stretches copied, cut or repeated.
std::string damaged(std::string bytes, core::RandomStream& random) {
  const std::string digits = "0123456789";
  for (std::uint64_t i = 0, count = 1 + random.below(4); i < count; ++i) {
    const auto at = static_cast<std::size_t>(random.below(bytes.size()));
    const auto length = static_cast<std::size_t>(random.below(40));
    switch (random.below(6)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
      case 1: bytes[at] = static_cast<char>(random.below(256)); break;
      case 2: {
        const std::size_t digit = bytes.find_first_of(digits, at);
        if (digit != std::string::npos) {
          bytes[digit] = digits[static_cast<std::size_t>(random.below(digits.size()))];
        }
        break;
      }
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(at, bytes.substr(bytes.size() - std::min(bytes.size(), length))); break;
      default: bytes.insert(at, std::string(length, '['));
    }
    if (bytes.empty()) return bytes;
  }
  return bytes;
}

TEST(HostileCheckpoints, AreRefusedOrWhole) {
  const support::Folder folder;
  const std::string path = folder / "run.safetensors";
  write_small_checkpoint(path, 1, 5);
  const std::string whole = support::read_file(path);
  core::RandomStream random(11, 0);
  int refused = 0;
  constexpr int kCount = 4000;
  for (int i = 0; i < kCount; ++i) {
    const std::string bytes = damaged(whole, random);
    support::write_file(path, bytes);
    try {
      const CheckpointFile file = CheckpointFile::open(path);
      EXPECT_EQ(bytes, whole) << i;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << i << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, kCount * 9 / 10);
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
