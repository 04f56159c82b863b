// Files read and written by position, and temporary files that leave nothing behind.
#include "core/file.h"

#include <fcntl.h>

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::core {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string path = (std::filesystem::temp_directory_path() / "lowtide-file-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }

  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

std::array<std::byte, 4> four(const File& file, Bytes offset) {
  std::array<std::byte, 4> out = {};
  file.read_at(offset, out);
  return out;
}

constexpr std::array kFour = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

TEST_F(FileTest, WritesAndReadsByPosition) {
  {
    File file = File::create(folder_ / "x");
    file.write_at(1000_B, kFour);
    EXPECT_EQ(file.size(), 1004_B);
    EXPECT_EQ(four(file, 1000_B), kFour);
  }
  const File file = File::open(folder_ / "x");
  EXPECT_EQ(file.name(), (folder_ / "x").string());
  EXPECT_EQ(four(file, 1000_B), kFour);
  EXPECT_EQ(four(file, 0_B), (std::array<std::byte, 4>{}));
}

TEST_F(FileTest, CreatingEmptiesWhatWasThere) {
  File::create(folder_ / "x").write_at(0_B, kFour);
  EXPECT_EQ(File::create(folder_ / "x").size(), 0_B);
}

TEST_F(FileTest, IsClosedOnExecAndWithItsOwner) {
  int descriptor = -1;
  {
    File file = File::create(folder_ / "x");
    File moved(std::move(file));
    descriptor = moved.descriptor();
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
    moved = File::create(folder_ / "y");
  }
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
}

TEST_F(FileTest, TemporaryFilesHaveNoName) {
  File file = File::temporary(folder_);
  file.write_at(0_B, kFour);
  EXPECT_EQ(four(file, 0_B), kFour);
  EXPECT_NE(file.name().find(folder_.string()), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FileTest, ErrorsNameThePath) {
  const auto message_of = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message_of([&] { File::open(folder_ / "absent"); }).find("absent: No such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { File::create(folder_ / "no" / "x"); }).find("no/x: No such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { File::temporary(folder_ / "no"); }).find("/no: No such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { File::open(folder_); }).find("not a regular file"), std::string::npos);
  File::create(folder_ / "x").write_at(0_B, kFour);
  const std::string early = message_of([&] { four(File::open(folder_ / "x"), 2_B); });
  EXPECT_NE(early.find("x ends at byte 4, 2 bytes too early"), std::string::npos);
  const std::string readonly = message_of([&] { File::open(folder_ / "x").write_at(0_B, kFour); });
  EXPECT_NE(readonly.find("cannot write"), std::string::npos);
}

}  // namespace
}  // namespace lowtide::core
