// The spill store: what goes in comes out, whatever moves it; and what goes wrong is told.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "memory/arena.h"
#include "memory/resident.h"
#include "memory/spill/store.h"
#include "support/folder.h"

namespace lowtide::memory {
namespace {

// Bytes that tell where they belong.
void fill(std::span<std::byte> bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 2654435761U + seed * 40503U) >> 13U);
  }
}

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  fill(bytes, seed);
  return bytes;
}

std::string error_of(const SpillStore& store, const Transfer& transfer) {
  try {
    store.wait(transfer);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    return error.what();
  }
  return "";
}

// Where the file lies and what moves it: the page cache of /dev/shm cannot be bypassed.
struct Way {
  std::string name;
  std::string directory;
  SpillIo io;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class EveryWay : public testing::TestWithParam<Way> {
 protected:
  static std::string directory() {
    return GetParam().directory.empty() ? std::string(LOWTIDE_SCRATCH) : GetParam().directory;
  }

  SpillStore store{directory(), GetParam().io};
};

TEST_P(EveryWay, BringsBackWhatWasStored) {
  constexpr std::int64_t kRoom = 28 << 20;
  const std::vector<std::size_t> sizes = {
      0,         1,    64,   511,           512,     513,           4095,    4096,
      4097,      8191, 8192, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20, (9 << 20) + 77,
      28'824'000};
  Arena memory(2 * Bytes(kRoom));
  std::byte* const out = memory.data();
  std::byte* const in = memory.data() + kRoom;
  std::vector<Bytes> places;
  Bytes end;
  for (const std::size_t size : sizes) {
    places.push_back(end);
    end += Bytes(static_cast<std::int64_t>(size)).rounded_up(kSpillBlock);
  }
  store.reserve(end, 4);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes offset = places[i];
    fill({out, sizes[i]}, static_cast<std::uint32_t>(i));
    Transfer away;
    away.offset = offset;
    away.memory = {out, sizes[i]};
    store.submit(away);
    store.wait(away);
    std::memset(in, 0xEE, sizes[i] + 1);
    Transfer back;
    back.direction = Direction::kFetch;
    back.offset = offset;
    back.memory = {in, sizes[i]};
    store.submit(back);
    store.wait(back);
    EXPECT_TRUE(std::equal(out, out + sizes[i], in)) << sizes[i];
    EXPECT_EQ(in[sizes[i]], std::byte{0xEE}) << "wrote beyond " << sizes[i];
  }
  // All are still there, for any part of any alignment.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t skip = sizes[i] / 3;
    std::vector<std::byte> part(sizes[i] - skip);
    store.read(places[i] + Bytes(static_cast<std::int64_t>(skip)), part);
    fill({out, sizes[i]}, static_cast<std::uint32_t>(i));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), out + skip)) << sizes[i];
  }
}

TEST_P(EveryWay, KeepsManyUnderWayInBothDirections) {
  constexpr std::size_t kCount = 48;
  constexpr std::size_t kSize = 300'001;
  constexpr std::int64_t kStride = 512 * 1024;
  Arena memory(Bytes(2 * kCount * kStride));
  const auto place = [&](std::size_t i) { return memory.data() + i * kStride; };
  store.reserve(Bytes(kCount * kStride), kCount);
  std::deque<Transfer> away(kCount);
  std::deque<Transfer> back(kCount);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kCount; ++i) {
      fill({place(i), kSize},
           static_cast<std::uint32_t>(100 * round) + static_cast<std::uint32_t>(i));
      away[i].offset = Bytes(static_cast<std::int64_t>(i) * kStride);
      away[i].memory = {place(i), kSize};
      store.submit(away[i]);
      if (i < 8) continue;
      store.wait(away[i - 8]);
      Transfer& fetch = back[i - 8];
      fetch.direction = Direction::kFetch;
      fetch.offset = away[i - 8].offset;
      fetch.memory = {place(kCount + i - 8), kSize};
      store.submit(fetch);
    }
    for (std::size_t i = 0; i + 8 < kCount; ++i) store.wait(back[i]);
    for (std::size_t i = kCount - 8; i < kCount; ++i) store.wait(away[i]);
    for (std::size_t i = 0; i + 8 < kCount; ++i) {
      ASSERT_TRUE(std::equal(place(i), place(i) + kSize, place(kCount + i))) << round << " " << i;
    }
  }
}

TEST_P(EveryWay, WritesAndReadsWithoutAlignment) {
  store.reserve(Bytes(4 << 20), 1);
  const std::vector<std::byte> bytes = pattern(1'000'003, 5);
  const std::vector<std::byte> odd(bytes.begin() + 3, bytes.end());  // at a place of its own
  store.write(Bytes(8192), odd);
  std::vector<std::byte> back(odd.size());
  store.read(Bytes(8192), back);
  EXPECT_TRUE(back == odd);
  std::vector<std::byte> untouched(100);
  store.read(Bytes(3 << 20), untouched);
  EXPECT_EQ(std::count(untouched.begin(), untouched.end(), std::byte{0}), 100);
}

TEST_P(EveryWay, MeasuresBothDirections) {
  [[maybe_unused]] const Bytes before = resident_bytes();
  const SpillRates rates = store.measure(2);
  EXPECT_GT(rates.store, 1e5);
  EXPECT_GT(rates.fetch, 1e5);
#if !defined(__SANITIZE_THREAD__)  // which keeps shadows of what threads touch
  EXPECT_LE((resident_bytes() - before).count(), 1 << 20);
#endif
}

// Optimizer state begins as zeros and is not written for that.
TEST_P(EveryWay, ReadsAsZerosAfterMeasuring) {
  store.measure(1);
  store.reserve(Bytes(8 << 20), 1);
  std::vector<std::byte> all(8 << 20);
  store.read(Bytes(0), all);
  EXPECT_EQ(std::count(all.begin(), all.end(), std::byte{0}), 8 << 20);
}

TEST_P(EveryWay, TellsThatTheFileEndsEarly) {
  Arena memory(Bytes(1 << 16));
  store.reserve(Bytes(1 << 16), 1);
  Transfer beyond;
  beyond.direction = Direction::kFetch;
  beyond.offset = Bytes(1 << 20);
  beyond.memory = {memory.data(), 1 << 16};
  store.submit(beyond);
  const std::string error = error_of(store, beyond);
  EXPECT_NE(error.find(directory()), std::string::npos) << error;
  EXPECT_NE(error.find("cannot fetch 65536 bytes at 1048576"), std::string::npos) << error;
}

TEST_P(EveryWay, GoesWhileTransfersAreUnderWay) {
  Arena memory(Bytes(64 << 20));
  std::deque<Transfer> away(16);
  SpillStore gone(directory(), GetParam().io);
  gone.reserve(Bytes(64 << 20), 16);
  for (std::size_t i = 0; i < away.size(); ++i) {
    away[i].offset = Bytes(static_cast<std::int64_t>(i) << 22U);
    away[i].memory = {memory.data() + (i << 22U), 4 << 20};
    gone.submit(away[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Spill,
                         EveryWay,
                         testing::Values(Way{"best", "", SpillIo::kBest},
                                         Way{"blocking", "", SpillIo::kBlocking},
                                         Way{"cached", "/dev/shm", SpillIo::kBest}),
                         [](const auto& instance) { return instance.param.name; });

TEST(SpillStore, LeavesNothingInTheFolder) {
  const support::Folder folder;
  {
    SpillStore store(folder.path());
    store.reserve(Bytes(1 << 20), 1);
    EXPECT_TRUE(folder.names().empty());
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(SpillStore, RefusesWhatTheDiskCannotHold) {
  const support::Folder folder;
  SpillStore store(folder.path());
  try {
    store.reserve(Bytes(std::int64_t{1} << 60U), 1);
    FAIL() << "an exbibyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find(folder.path().string()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
  }
}

TEST(SpillStore, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW(SpillStore("/nowhere/at/all"), Error);
}

// The system's own refusal: a limit on file sizes, as a full disk or a quota is one.
TEST(SpillStore, TellsWhatTheSystemRefuses) {
  const support::Folder folder;
  SpillStore store(folder.path(), SpillIo::kBlocking);
  store.reserve(Bytes(1 << 20), 1);
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 1 << 20;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Arena memory(Bytes(1 << 20));
  Transfer beyond;
  beyond.offset = Bytes(1 << 20);
  beyond.memory = {memory.data(), 1 << 20};
  store.submit(beyond);
  const std::string error = error_of(store, beyond);
  EXPECT_THROW(store.reserve(Bytes(2 << 20), 1), Error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error.find(std::string("cannot store 1048576 bytes at 1048576: ") + strerror(EFBIG)),
            std::string::npos)
      << error;
}

// An engine over memory that obeys a script: each block moves that many bytes, or fails.
class ScriptedEngine final : public Engine {
 public:
  ScriptedEngine(Direction direction, std::vector<std::byte>& file, std::deque<std::int64_t> script)
      : direction_(direction), file_(file), script_(std::move(script)) {}

  [[nodiscard]] std::uint32_t depth() const override { return 3; }
  [[nodiscard]] std::size_t block_size() const override { return 8192; }

  void begin(const Block& block) override { under_way_.push_back(block); }

  // The newest first: completions come in any order.
  Completion finish() override {
    const Block block = under_way_.back();
    under_way_.pop_back();
    auto moved = static_cast<std::int64_t>(block.size);
    if (!script_.empty()) {
      moved = std::min(script_.front(), moved);
      script_.pop_front();
    }
    for (std::int64_t i = 0; i < moved; ++i) {
      std::byte& in_file = file_[static_cast<std::size_t>(block.offset + i)];
      (direction_ == Direction::kStore ? in_file : block.data[i]) =
          direction_ == Direction::kStore ? block.data[i] : in_file;
    }
    return {block.tag, moved};
  }

 private:
  Direction direction_;
  std::vector<std::byte>& file_;
  std::deque<std::int64_t> script_;
  std::vector<Block> under_way_;
};

class Faults : public testing::Test {
 protected:
  // Stores and fetches 50,001 bytes under that script; the first error.
  std::string run(const std::deque<std::int64_t>& store_script,
                  const std::deque<std::int64_t>& fetch_script) {
    SpillStore store("/tmp",
                     std::make_unique<ScriptedEngine>(Direction::kStore, file, store_script),
                     std::make_unique<ScriptedEngine>(Direction::kFetch, file, fetch_script));
    constexpr std::size_t kSize = 50'001;
    Arena memory(Bytes(1 << 17));
    fill({memory.data(), kSize}, 9);
    Transfer away;
    away.offset = Bytes(4096);
    away.memory = {memory.data(), kSize};
    store.submit(away);
    std::string error = error_of(store, away);
    if (!error.empty()) return error;
    Transfer back;
    back.direction = Direction::kFetch;
    back.offset = Bytes(4096);
    back.memory = {memory.data() + (1 << 16), kSize};
    store.submit(back);
    error = error_of(store, back);
    if (error.empty()) {
      EXPECT_TRUE(std::equal(memory.data(), memory.data() + kSize, memory.data() + (1 << 16)));
    }
    return error;
  }

  std::vector<std::byte> file = std::vector<std::byte>(1 << 17, std::byte{0});
};

TEST_F(Faults, BlocksMayMoveInParts) {
  EXPECT_EQ(run({4096, 8192, 512, 100, 1}, {1, 2, 3, 512, 4095}), "");
}

TEST_F(Faults, TellsEveryFailedStore) {
  for (std::size_t at = 0; at < 7; ++at) {
    std::deque<std::int64_t> script(at, 8192);
    script.push_back(-ENOSPC);
    const std::string error = run(script, {});
    EXPECT_NE(error.find("spill file in /tmp: cannot store 50001 bytes at 4096: No space left"),
              std::string::npos)
        << at << ": " << error;
  }
}

TEST_F(Faults, TellsEveryFailedFetch) {
  for (const std::int64_t result : {std::int64_t{-EIO}, std::int64_t{0}}) {
    for (std::size_t at = 0; at < 7; ++at) {
      std::deque<std::int64_t> script(at, 8192);
      script.push_back(result);
      const std::string error = run({}, script);
      EXPECT_NE(error.find("cannot fetch 50001 bytes at 4096: Input/output error"),
                std::string::npos)
          << at << ": " << error;
    }
  }
}

TEST_F(Faults, AFailedTransferMayBeTriedAgain) {
  SpillStore store(
      "/tmp",
      std::make_unique<ScriptedEngine>(Direction::kStore, file,
                                       std::deque<std::int64_t>{-EIO, -EIO, -EIO}),
      std::make_unique<ScriptedEngine>(Direction::kFetch, file, std::deque<std::int64_t>{}));
  Arena memory(Bytes(1 << 15));
  Transfer away;
  away.memory = {memory.data(), 20'000};
  fill(away.memory, 3);
  store.submit(away);
  EXPECT_NE(error_of(store, away), "");
  store.submit(away);
  EXPECT_EQ(error_of(store, away), "");
  EXPECT_TRUE(std::equal(away.memory.begin(), away.memory.end(), file.begin()));
}

}  // namespace
}  // namespace lowtide::memory
