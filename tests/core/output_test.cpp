// Files that appear whole or not at all, and the checksum of what they hold.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/output/crc32c.h"
#include "core/output/output_file.h"
#include "support/folder.h"

namespace lowtide::core {
namespace {

using support::Folder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Values of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32cs, AreThoseOfTheStandard) {
  const auto crc = [](const std::string& text) {
    Crc32c whole;
    whole.add(bytes_of(text));
    return whole.value();
  };
  EXPECT_EQ(crc(""), 0U);
  EXPECT_EQ(crc("123456789"), 0xE3069283U);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc(std::string(32, '\xFF')), 0x62A8AB43U);
}

TEST(Crc32cs, DoNotDependOnThePieces) {
  const std::string text = "the quick brown fox jumps over the lazy dog, twice";
  Crc32c whole;
  whole.add(bytes_of(text));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Crc32c parts;
    parts.add(bytes_of(text.substr(0, cut)));
    parts.add(bytes_of(text.substr(cut)));
    EXPECT_EQ(parts.value(), whole.value()) << cut;
  }
}

TEST(OutputFiles, AppearWhenTheyAreCommitted) {
  const Folder folder;
  const std::string path = folder / "file";
  support::write_file(path, "old");
  {
    OutputFile file(path);
    file.write(bytes_of("new"));
    EXPECT_EQ(support::read_file(path), "old");
    file.commit();
  }
  EXPECT_EQ(support::read_file(path), "new");
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST(OutputFiles, LeaveNoTraceWithoutACommit) {
  const Folder folder;
  {
    OutputFile file(folder / "file");
    file.write(bytes_of("new"));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(OutputFiles, ReplaceALinkAndNotWhatItNames) {
  const Folder folder;
  support::write_file(folder / "outside", "kept");
  std::filesystem::create_symlink(folder / "outside", folder / "file");
  OutputFile file(folder / "file");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(support::read_file(folder / "outside"), "kept");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "file"));
  EXPECT_EQ(support::read_file(folder / "file"), "new");
}

TEST(OutputFiles, NameTheFolderThatIsNotThere) {
  const Folder folder;
  try {
    OutputFile file(folder / "none/file");
    FAIL() << "was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("none/file"), std::string::npos) << error.what();
  }
}

TEST(OutputFiles, OfKilledProcessesAreRemovedAndOthersStay) {
  const Folder folder;
  const std::string path = folder / "file";
  const std::string stale = folder / ".file.123-0.tmp";
  support::write_file(stale, "half");
  const std::string other = folder / ".file2.123-0.tmp";
  support::write_file(other, "of another file");
  const std::string named = folder / ".file.notes-0.tmp";
  support::write_file(named, "no temporary");
  OutputFile under_way(path);
  remove_stale_outputs(path);
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(named));
  under_way.write(bytes_of("whole"));
  under_way.commit();
  EXPECT_EQ(support::read_file(path), "whole");
}

}  // namespace
}  // namespace lowtide::core
