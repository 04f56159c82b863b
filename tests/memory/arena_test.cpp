// The arena: aligned, zero, lazily resident, and given back on request.
#include "memory/arena.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "memory/resident.h"

namespace lowtide::memory {
namespace {

Bytes page() { return Bytes(::sysconf(_SC_PAGESIZE)); }

TEST(Arena, IsAlignedAndZero) {
  const Arena arena(1000_B);
  EXPECT_EQ(arena.size(), 1000_B);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % 64, 0U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(arena.data()[i], std::byte{0});
}

TEST(Arena, BecomesResidentOnlyAsTouched) {
  const Bytes before = resident_bytes();
  const Arena arena(1_GiB);
  EXPECT_LT(resident_bytes() - before, 16_MiB);
  std::memset(arena.data(), 1, static_cast<std::size_t>((64_MiB).count()));
  const Bytes touched = resident_bytes() - before;
  EXPECT_GE(touched, 56_MiB);
  EXPECT_LT(touched, 96_MiB);
}

TEST(Arena, ReservesMoreThanTheMachineHas) {
  const Arena arena(Bytes(std::int64_t{1} << 40));
  arena.data()[(std::int64_t{1} << 40) - 1] = std::byte{7};
  EXPECT_EQ(arena.data()[(std::int64_t{1} << 40) - 1], std::byte{7});
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
  // Whether the system grants huge pages or not, touching every byte makes no more than the
  // arena's own size resident (and a little for the process's own work).
  const Bytes before = resident_bytes();
  const Arena arena(33_MiB + 4_KiB, Pages::kHuge);
  std::memset(arena.data(), 1, static_cast<std::size_t>(arena.size().count()));
  EXPECT_LT(resident_bytes() - before, 34_MiB);
}

}  // namespace
}  // namespace lowtide::memory
