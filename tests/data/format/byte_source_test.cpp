// Stretches of files, and unpacking of sound, damaged and lying gzip files.
#include "data/format/byte_source.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

FileBytes contents(const ByteSource& source) {
  FileBytes bytes(static_cast<std::size_t>(source.size().count()));
  source.read_at(Bytes(0), std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

FileBytes pattern(std::size_t size) {
  FileBytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * i / 7 + i);
  return bytes;
}

TEST(ByteSource, ReadsPartsAndRefusesBeyondTheEnd) {
  const ScratchFolder folder;
  const ByteSource whole = ByteSource::open(folder.write("x", {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(whole.size(), 8_B);
  const ByteSource part = whole.part(2_B, 4_B).part(1_B, 2_B);
  EXPECT_EQ(contents(part), (FileBytes{3, 4}));
  FileBytes out(2);
  expect_error(ErrorCode::kInvalidFile, {"x", "reach over its end at 2"},
               [&] { part.read_at(1_B, std::as_writable_bytes(std::span(out))); });
  expect_error(ErrorCode::kInvalidFile, {"reach over its end"}, [&] {
    part.read_at(Bytes(std::int64_t{1} << 62), std::as_writable_bytes(std::span(out)));
  });
}

TEST(ByteSource, MissingFilesAndFoldersAreNamed) {
  const ScratchFolder folder;
  expect_error(ErrorCode::kIo, {"absent", "No such file"},
               [&] { ByteSource::open(folder.path() / "absent"); });
  expect_error(ErrorCode::kIo, {folder.path().string(), "not a regular file"},
               [&] { ByteSource::open(folder.path()); });
}

TEST(ByteSource, AFileThatShrinksIsAnError) {
  const ScratchFolder folder;
  const auto path = folder.write("x", pattern(100));
  const ByteSource source = ByteSource::open(path);
  std::filesystem::resize_file(path, 50);
  FileBytes out(100);
  expect_error(ErrorCode::kInvalidFile, {"x ends at byte 50"},
               [&] { source.read_at(0_B, std::as_writable_bytes(std::span(out))); });
}

TEST(Unpack, RoundTripsAndLeavesNoFileBehind) {
  const ScratchFolder folder;
  const ScratchFolder temp;
  for (const std::size_t size : {0UL, 1UL, 1000UL, 3000000UL}) {
    const ByteSource packed = ByteSource::open(folder.write("x.gz", gzipped(pattern(size))));
    const ByteSource plain = unpack(packed, {.directory = temp.path()});
    EXPECT_EQ(contents(plain), pattern(size));
    EXPECT_TRUE(std::filesystem::is_empty(temp.path()));
  }
}

TEST(Unpack, TakesConcatenatedAndPaddedFiles) {
  const ScratchFolder folder;
  FileBytes bytes = gzipped({1, 2, 3});
  const FileBytes more = gzipped({4, 5});
  bytes.insert(bytes.end(), more.begin(), more.end());
  bytes.insert(bytes.end(), 20, 0);
  const ByteSource packed = ByteSource::open(folder.write("x.gz", bytes));
  EXPECT_EQ(contents(unpack(packed, {})), (FileBytes{1, 2, 3, 4, 5}));
}

TEST(Unpack, EveryTruncationIsAnError) {
  const ScratchFolder folder;
  const auto path = folder.write("x.gz", gzipped(pattern(300)));
  for_each_truncation(path, [&] {
    expect_error(ErrorCode::kInvalidFile, {"x.gz"}, [&] { unpack(ByteSource::open(path), {}); });
  });
}

TEST(Unpack, NoFlippedBitChangesTheContentsUnnoticed) {
  const ScratchFolder folder;
  const FileBytes plain = pattern(200);
  const FileBytes whole = gzipped(plain);
  const auto path = folder.write("x.gz", whole);
  int noticed = 0;
  for_each_flip(path, whole, [&](std::size_t bit) {
    try {
      EXPECT_EQ(contents(unpack(ByteSource::open(path), {})), plain) << bit;  // only a time stamp
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << error.what();
      ++noticed;
    }
  });
  EXPECT_GT(noticed, 8 * 200 / 3);
}

TEST(Unpack, HoldsTheStreamToWhatIsDeclared) {
  const ScratchFolder folder;
  const ByteSource packed = ByteSource::open(folder.write("x.gz", gzipped(pattern(100))));
  EXPECT_EQ(unpack(packed, {.size = 100_B}).size(), 100_B);
  expect_error(ErrorCode::kInvalidFile, {"more than the 99 bytes"},
               [&] { unpack(packed, {.size = 99_B}); });
  expect_error(ErrorCode::kInvalidFile, {"100 bytes instead of the 101"},
               [&] { unpack(packed, {.size = 101_B}); });
  expect_error(ErrorCode::kInvalidFile, {"cannot hold the 1099511627776 bytes"},
               [&] { unpack(packed, {.size = Bytes(std::int64_t{1} << 40)}); });
  const FileBytes plain = pattern(100);
  const std::uint32_t checksum = crc32(0, std::as_bytes(std::span(plain)));
  EXPECT_EQ(unpack(packed, {.checksum = checksum}).size(), 100_B);
  expect_error(ErrorCode::kInvalidFile, {"checksum"},
               [&] { unpack(packed, {.checksum = checksum ^ 1U}); });
}

TEST(Unpack, NamesTheDirectoryThatCannotHoldIt) {
  const ScratchFolder folder;
  const ByteSource packed = ByteSource::open(folder.write("x.gz", gzipped(pattern(100))));
  expect_error(ErrorCode::kIo, {"/absent", "No such file"},
               [&] { unpack(packed, {.directory = folder.path() / "absent"}); });
}

// A limit on file sizes stands for a full disk: the write fails in the same place.
void unpack_with_little_space(const ByteSource& packed, const std::filesystem::path& directory) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {4096, 4096};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) std::_Exit(2);
  try {
    unpack(packed, {.directory = directory});
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool named = message.find(directory.string()) != std::string::npos &&
                       message.find("needs at least 2.9 MiB") != std::string::npos;
    std::fputs(message.c_str(), stderr);
    std::_Exit(named && error.code() == ErrorCode::kIo ? 0 : 1);
  }
  std::_Exit(3);
}

TEST(UnpackDeathTest, AFullDiskNamesTheDirectoryAndTheSpaceNeeded) {
  const ScratchFolder folder;
  const ByteSource packed = ByteSource::open(folder.write("x.gz", gzipped(pattern(3000000))));
  EXPECT_EXIT(unpack_with_little_space(packed, folder.path()), testing::ExitedWithCode(0),
              "inflating needs");
}

}  // namespace
}  // namespace lowtide::data
