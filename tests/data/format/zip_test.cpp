// Zip archives: sound ones of NumPy's making, and damaged and lying ones.
#include "data/format/zip.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

// What every member holds, one after the other.
FileBytes contents(const std::filesystem::path& path) {
  const ZipArchive archive(path);
  FileBytes all;
  for (const ZipMember& member : archive.members()) {
    const ByteSource source = archive.open(member, {});
    FileBytes bytes(static_cast<std::size_t>(source.size().count()));
    source.read_at(0_B, std::as_writable_bytes(std::span(bytes)));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// Opens and reads every member; the number of bytes they hold.
Bytes read_all(const std::filesystem::path& path) {
  return Bytes(static_cast<std::int64_t>(contents(path).size()));
}

// The place of a signature like "PK\1\2" in an archive, from the back for the last record.
std::size_t place_of(const FileBytes& bytes, std::string_view signature) {
  const auto found = std::find_end(bytes.begin(), bytes.end(), signature.begin(), signature.end());
  EXPECT_NE(found, bytes.end());
  return static_cast<std::size_t>(found - bytes.begin());
}

void put(FileBytes& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i)
    bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

class Zip : public testing::TestWithParam<std::string> {
 protected:
  std::string small_ = "small-" + GetParam();
  FileBytes whole_ = read_file(kFiles / small_);
  ScratchFolder folder_;
  std::filesystem::path path_ = folder_.write("x.npz", whole_);
};

TEST_P(Zip, ListsAndReadsMembers) {
  const ZipArchive archive(kFiles / GetParam());
  ASSERT_EQ(archive.members().size(), 7U);
  EXPECT_EQ(archive.members()[0].name, "x.npy");
  EXPECT_EQ(archive.members()[1].size, 128_B + 6 * 8_B);
  EXPECT_GT(read_all(kFiles / GetParam()), 7 * 128_B);
}

TEST_P(Zip, EveryTruncationIsAnError) {
  EXPECT_EQ(read_all(path_), 2 * 128_B + 24_B + 16_B);
  for_each_truncation(
      path_, [&] { expect_error(ErrorCode::kInvalidFile, {"x.npz"}, [&] { read_all(path_); }); });
}

// Deflate leaves a few bits of its last byte unused.
TEST_P(Zip, NoFlippedBitOfAMemberChangesWhatIsRead) {
  const FileBytes sound = contents(path_);
  const ZipArchive archive(path_);
  for (const ZipMember& member : archive.members()) {
    for (std::int64_t bit = 0; bit < 8 * member.packed_size.count(); ++bit) {
      FileBytes bytes = whole_;
      bytes[static_cast<std::size_t>(member.begin.count() + bit / 8)] ^=
          static_cast<std::uint8_t>(1U << (bit % 8));
      const auto path = folder_.write("flipped.npz", bytes);
      try {
        EXPECT_EQ(contents(path), sound) << member.name << ", bit " << bit;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << error.what();
        EXPECT_NE(std::string(error.what()).find(member.name), std::string::npos) << error.what();
      }
    }
  }
}

TEST_P(Zip, FlippedBitsNeverDoMoreThanThrow) {
  int refused = 0;
  for_each_flip(path_, whole_, [&](std::size_t) {
    try {
      EXPECT_LT(read_all(path_), 1_KiB);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kIo) << error.what();
      ++refused;
    }
  });
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Numpy, Zip, testing::Values("stored.npz", "deflated.npz", "streamed.npz"));

class LyingZip : public testing::Test {
 protected:
  void refuse(ErrorCode code, const FileBytes& bytes, const std::string& part) {
    const auto path = folder_.write("x.npz", bytes);
    expect_error(code, {"x.npz", part}, [&] { read_all(path); });
  }

  ScratchFolder folder_;
  FileBytes bytes_ = read_file(kFiles / "deflated.npz");
  std::size_t last_ = place_of(bytes_, "PK\1\2");  // central record of the last member
  std::size_t end_ = place_of(bytes_, "PK\5\6");
};

TEST_F(LyingZip, Encrypted) {
  bytes_[last_ + 8] |= 1U;
  refuse(ErrorCode::kUnsupported, bytes_, "'i16.npy' is encrypted");
}

TEST_F(LyingZip, UnknownMethod) {
  put(bytes_, last_ + 10, 12, 2);
  refuse(ErrorCode::kUnsupported, bytes_, "method 12");
}

TEST_F(LyingZip, StoredSizesDiffer) {
  put(bytes_, last_ + 10, 0, 2);
  refuse(ErrorCode::kInvalidFile, bytes_, "declares 140");
}

TEST_F(LyingZip, Bomb) {
  put(bytes_, last_ + 24, 0xfffffff0U, 4);
  refuse(ErrorCode::kInvalidFile, bytes_, "cannot hold the 4294967280 bytes");
  put(bytes_, last_ + 24, 139, 4);
  refuse(ErrorCode::kInvalidFile, bytes_, "more than the 139 bytes");
  put(bytes_, last_ + 24, 141, 4);
  refuse(ErrorCode::kInvalidFile, bytes_, "instead of the 141 declared");
}

TEST_F(LyingZip, WrongChecksum) {
  bytes_[last_ + 16] ^= 1U;
  refuse(ErrorCode::kInvalidFile, bytes_, "'i16.npy': checksum");
  FileBytes stored = read_file(kFiles / "stored.npz");
  stored[place_of(stored, "PK\1\2") + 16] ^= 1U;
  refuse(ErrorCode::kInvalidFile, stored, "'i16.npy': checksum");
}

TEST_F(LyingZip, OverlappingMembers) {
  put(bytes_, last_ + 42, 0, 4);  // the same place as the first member
  refuse(ErrorCode::kInvalidFile, bytes_, "overlaps what follows it");
}

TEST_F(LyingZip, OffsetsAndSizesOutOfRange) {
  FileBytes far = bytes_;
  put(far, last_ + 42, 0xfffffffeU, 4);
  refuse(ErrorCode::kInvalidFile, far, "overlaps what follows it");
  FileBytes wide = bytes_;
  put(wide, last_ + 20, 0xfffffffeU, 4);
  refuse(ErrorCode::kInvalidFile, wide, "overlaps what follows it");
  FileBytes full = bytes_;
  put(full, last_ + 42, 0xffffffffU, 4);  // stands for a 64-bit offset that is not there
  refuse(ErrorCode::kInvalidFile, full, "overlaps");
  FileBytes directory = bytes_;
  put(directory, end_ + 16, 0xfffffffeU, 4);
  refuse(ErrorCode::kInvalidFile, directory, "central directory outside the archive");
}

TEST_F(LyingZip, NumberOfMembers) {
  put(bytes_, end_ + 10, 6, 2);
  refuse(ErrorCode::kInvalidFile, bytes_, "7 members where 6 are declared");
}

TEST_F(LyingZip, NoArchive) {
  refuse(ErrorCode::kInvalidFile, {}, "not a zip archive");
  refuse(ErrorCode::kInvalidFile, FileBytes(100000, 'P'), "not a zip archive");
}

}  // namespace
}  // namespace lowtide::data
