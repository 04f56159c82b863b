// Measuring the process: values are plausible and follow what the process does.
#include "memory/resident.h"

#include <sys/resource.h>

#include <cstring>

#include <gtest/gtest.h>

#include "core/cgroup.h"
#include "memory/arena.h"

namespace lowtide::memory {
namespace {

TEST(Resident, PeakStaysAfterMemoryIsGone) {
  const Bytes before = resident_bytes();
  EXPECT_GT(before, 500_KiB);
  {
    const Arena arena(96_MiB);
    std::memset(arena.data(), 1, static_cast<std::size_t>(arena.size().count()));
  }
  EXPECT_LT(resident_bytes(), before + 32_MiB);
  EXPECT_GE(peak_resident_bytes(), before + 80_MiB);
}

TEST(Resident, PeakAgreesWithTheSystemsOwnAccount) {
  const Arena arena(32_MiB);
  std::memset(arena.data(), 1, static_cast<std::size_t>(arena.size().count()));
  rusage usage = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  const Bytes difference = peak_resident_bytes() - Bytes(usage.ru_maxrss * 1024);
  EXPECT_LT(difference, 8_MiB);
  EXPECT_GT(difference, Bytes(-(8_MiB).count()));
}

TEST(Resident, LimitIsTheControlGroupsOrWhatIsAvailable) {
  EXPECT_GT(available_bytes(), 0_B);
  const auto limits = core::read_cgroup_limits();
  if (limits.memory) {
    EXPECT_EQ(memory_limit(), *limits.memory);
  } else {
    EXPECT_GT(memory_limit(), 0_B);
  }
}

}  // namespace
}  // namespace lowtide::memory
