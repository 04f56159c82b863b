// Files as the ONNX reader sees them: what of a mapping is resident.
#include "onnx/bytes/file.h"

#include <cstdint>
#include <fstream>
#include <numeric>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace lowtide::onnx {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

InputFile file_of(const support::Folder& folder, std::size_t size) {
  support::write_file(folder / "file", std::string(size, 'x'));
  return InputFile::open(folder / "file");
}

// Pages of this mapping that are in the process's page table.
std::size_t resident_pages(const MappedFile& file) {
  const auto begin = reinterpret_cast<std::uintptr_t>(file.bytes().data());
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    if (line.find('-') != std::string::npos && line.find(':') > line.find(' ')) {
      inside = std::stoull(line, nullptr, 16) == begin;
    }
    if (inside && line.starts_with("Rss:")) return std::stoull(line.substr(4)) / 4;
  }
  return 0;
}

std::size_t sum(std::span<const std::byte> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}, [](std::size_t sum, auto b) {
    return sum + std::to_integer<std::size_t>(b);
  });
}

TEST(MappedFile, GivesBackWhatHasBeenLookedAt) {
  const support::Folder folder;
  const InputFile file = file_of(folder, 8 * kMebibyte + 5);
  MappedFile mapped(file);
  const std::size_t whole = sum(mapped.bytes());
  EXPECT_EQ(whole, (8 * kMebibyte + 5) * 'x');
  const std::size_t all = resident_pages(mapped);
  EXPECT_GE(all, 8 * kMebibyte / 4096);
  mapped.passed(kMebibyte - 1);  // too little to trouble the system with
  EXPECT_EQ(resident_pages(mapped), all);
  mapped.passed(5 * kMebibyte + 17);
  EXPECT_LE(resident_pages(mapped), all - 5 * kMebibyte / 4096);  // less where pages are huge
  mapped.passed(3 * kMebibyte);                                   // goes back
  mapped.passed(mapped.bytes().size());
  EXPECT_LE(resident_pages(mapped), std::size_t{1});
  EXPECT_EQ(sum(mapped.bytes()), whole);  // and it is all still there
}

TEST(MappedFile, MayBeEmpty) {
  const support::Folder folder;
  const InputFile file = file_of(folder, 0);
  MappedFile mapped(file);
  mapped.passed(0);
  EXPECT_TRUE(mapped.bytes().empty());
}

}  // namespace
}  // namespace lowtide::onnx
