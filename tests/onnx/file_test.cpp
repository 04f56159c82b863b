// Files as the ONNX reader sees them: what of a mapping is resident.
#include "onnx/bytes/file.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <span>
#include <string>

#include <gtest/gtest.h>

namespace lowtide::onnx {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

// A file of `size` bytes that goes when this does; none is zero.
class ScratchFile {
 public:
  explicit ScratchFile(std::size_t size) {
    const int descriptor = ::mkstemp(path_.data());
    EXPECT_GE(descriptor, 0);
    ::close(descriptor);
    std::ofstream(path_, std::ios::binary) << std::string(size, 'x');
  }
  ~ScratchFile() { ::unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "lowtide-file-XXXXXX";
};

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
  const ScratchFile scratch(8 * kMebibyte + 5);
  const InputFile file = InputFile::open(scratch.path());
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
  const ScratchFile scratch(0);
  const InputFile file = InputFile::open(scratch.path());
  MappedFile mapped(file);
  mapped.passed(0);
  EXPECT_TRUE(mapped.bytes().empty());
}

}  // namespace
}  // namespace lowtide::onnx
