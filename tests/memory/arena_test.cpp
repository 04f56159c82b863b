// The arena: aligned, zero, lazily resident, and given back on request.
#include "memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "memory/resident.h"

namespace lowtide::memory {
namespace {

Bytes page() { return Bytes(::sysconf(_SC_PAGESIZE)); }

// Resident pages of the arena alone: sanitizers keep more memory for each byte that is touched.
std::int64_t resident_pages(const Arena& arena) {
  std::vector<unsigned char> present(
      static_cast<std::size_t>(arena.size().rounded_up(page()).count() / page().count()));
  EXPECT_EQ(::mincore(arena.data(), static_cast<std::size_t>(arena.size().count()), present.data()),
            0);
  return std::ranges::count_if(present, [](unsigned char state) { return (state & 1U) != 0; });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed
// Freed memory below what is still used goes back to the system only on request.
TEST(Arena, LeavesNoFreedMemoryBesideIt) {
  constexpr std::size_t kBlock = 1024;
  constexpr std::size_t kBlocks = 16 * 1024;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
    std::memset(blocks.back().get(), 1, kBlock);
  }
  const std::unique_ptr<char[]> last = std::move(blocks.back());
  blocks.clear();
  const Bytes before = resident_bytes();
  const Arena arena(page());
  EXPECT_LT(resident_bytes(), before - Bytes(kBlocks * kBlock * 3 / 4));
  EXPECT_NE(last, nullptr);
}
#endif

// Whether the mapping at that address has the advice.
bool has_flag(const std::byte* address, const std::string& flag) {
  std::ifstream file("/proc/self/smaps");
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t first = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2) begin = first;
    if (line.rfind("VmFlags:", 0) != 0 || at < begin || at >= end) continue;
    return line.find(" " + flag) != std::string::npos;
  }
  return false;
}

// A system whose rule is huge pages would make heap, stacks and generated code grow.
TEST(Arena, KeepsWhatLiesBesideItOnSmallPages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return;
  constexpr std::size_t kSize = 4 << 20;
  const auto map = [] {
    return static_cast<std::byte*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  std::byte* const plain = map();
  std::byte* const wished = map();
  ASSERT_EQ(::madvise(wished, kSize, MADV_HUGEPAGE), 0);
  const Arena first(16_MiB, Pages::kHuge);
  const Arena second(page());
  EXPECT_TRUE(has_flag(plain, "nh"));
  EXPECT_TRUE(has_flag(wished, "hg")) << "others' wishes are not Lowtide's business";
  EXPECT_TRUE(has_flag(first.data(), "hg"));
  ::munmap(plain, kSize);
  ::munmap(wished, kSize);
}

TEST(Arena, IsAlignedAndZero) {
  const Arena arena(1000_B);
  EXPECT_EQ(arena.size(), 1000_B);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % 64, 0U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(arena.data()[i], std::byte{0});
}

TEST(Arena, BecomesResidentOnlyAsTouched) {
  const Arena arena(1_GiB);
  EXPECT_EQ(resident_pages(arena), 0);
  std::memset(arena.data(), 1, static_cast<std::size_t>(10 * page().count()));
  arena.data()[(1_GiB).count() - 1] = std::byte{1};
  EXPECT_EQ(resident_pages(arena), 11);
}

TEST(Arena, ReservesMoreThanTheMachineHas) {
  const std::int64_t size = 4 * ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  const Arena arena{Bytes(size)};
  arena.data()[size - 1] = std::byte{7};
  EXPECT_EQ(arena.data()[size - 1], std::byte{7});
}

TEST(Arena, RefusalNamesTheSize) {
  try {
    const Arena arena(Bytes(std::int64_t{1} << 60));
    FAIL() << "2^60 bytes were reserved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("1152921504606846976"), std::string::npos);
  }
  EXPECT_THROW(Arena(Bytes(-1)), Error);
}

TEST(Arena, ReleasesWholePagesOnly) {
  const std::int64_t size = page().count();
  Arena arena(4 * page());
  std::memset(arena.data(), 1, static_cast<std::size_t>(4 * size));
  arena.release(Bytes(size / 2), 2 * page());
  EXPECT_EQ(arena.data()[size - 1], std::byte{1});
  EXPECT_EQ(arena.data()[size], std::byte{0});
  EXPECT_EQ(arena.data()[2 * size - 1], std::byte{0});
  EXPECT_EQ(arena.data()[2 * size], std::byte{1});
}

TEST(Arena, ReleasesItsLastPartialPage) {
  Arena arena(page() + 100_B);
  arena.data()[page().count()] = std::byte{1};
  arena.release(page(), 100_B);
  EXPECT_EQ(arena.data()[page().count()], std::byte{0});
}

TEST(Arena, ReleaseLowersResidentBytes) {
  Arena arena(128_MiB);
  std::memset(arena.data(), 1, static_cast<std::size_t>((128_MiB).count()));
  const Bytes full = resident_bytes();
  arena.release(0_B, arena.size());
  EXPECT_GT(full - resident_bytes(), 96_MiB);
}

TEST(Arena, MovesAndMayBeEmpty) {
  Arena first(100_B);
  first.data()[0] = std::byte{3};
  Arena second(std::move(first));
  EXPECT_EQ(second.data()[0], std::byte{3});
  Arena third(0_B);
  EXPECT_EQ(third.size(), 0_B);
  third.release(0_B, 0_B);
  third = std::move(second);
  EXPECT_EQ(third.size(), 100_B);
  EXPECT_EQ(third.data()[0], std::byte{3});
}

TEST(Arena, HugePagesStayInside) {
  // No whole huge page fits, so touching a byte must not make more than its page resident.
  const Arena small(1_MiB, Pages::kHuge);
  small.data()[0] = std::byte{1};
  EXPECT_EQ(resident_pages(small), 1);
  // The end of a larger arena holds small pages; every byte is usable all the same.
  const Arena large(5_MiB + 100_B, Pages::kHuge);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (2U << 20U), 0U);
  std::memset(large.data(), 1, static_cast<std::size_t>(large.size().count()));
  EXPECT_EQ(large.data()[large.size().count() - 1], std::byte{1});
}

}  // namespace
}  // namespace lowtide::memory
