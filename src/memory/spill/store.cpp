#include "memory/spill/store.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/text.h"
#include "memory/arena.h"

namespace lowtide::memory {
namespace {

using Clock = std::chrono::steady_clock;

std::string message(int error) { return std::generic_category().message(error); }

// Asks for transfers past the page cache; tmpfs and some network file systems have no such thing.
bool make_direct(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0;
}

std::unique_ptr<Engine> make_engine(int descriptor, Direction direction, bool direct, SpillIo io) {
  // Through the page cache io_uring would only hand the work to threads of its own.
  if (direct && io == SpillIo::kBest) {
    if (auto engine = make_uring_engine(descriptor, direction)) return engine;
  }
  return make_blocking_engine(descriptor, direction);
}

std::size_t index(Direction direction) { return direction == Direction::kStore ? 0 : 1; }

double seconds(Clock::time_point from, Clock::time_point to) {
  return std::max(std::chrono::duration<double>(to - from).count(), 1e-9);
}

}  // namespace

SpillStore::SpillStore(const std::filesystem::path& directory, SpillIo io)
    : directory_(directory.string()),
      file_(core::File::temporary(directory)),
      direct_(make_direct(file_.descriptor())) {
  for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
    lanes_[index(direction)] = std::make_unique<Lane>(
        direction, make_engine(file_.descriptor(), direction, direct_, io), direct_);
  }
}

SpillStore::SpillStore(const std::filesystem::path& directory,
                       std::unique_ptr<Engine> store,
                       std::unique_ptr<Engine> fetch)
    : directory_(directory.string()), file_(core::File::temporary(directory)), direct_(true) {
  lanes_[0] = std::make_unique<Lane>(Direction::kStore, std::move(store), direct_);
  lanes_[1] = std::make_unique<Lane>(Direction::kFetch, std::move(fetch), direct_);
}

void SpillStore::reserve(Bytes size, std::size_t transfers) {
  struct statvfs space = {};
  if (::fstatvfs(file_.descriptor(), &space) != 0) {
    throw core::fail(ErrorCode::kIo, "spill file in {}: cannot tell the free space: {}", directory_,
                     message(errno));
  }
  const Bytes available(static_cast<std::int64_t>(space.f_bavail) *
                        static_cast<std::int64_t>(space.f_frsize));
  // What measuring left behind is its own.
  if (size - std::min(size, file_.size()) > available) {
    throw core::fail(ErrorCode::kIo, "spill file in {}: needs {} ({} bytes), {} are free",
                     directory_, size.str(), size.count(), available.str());
  }
  if (::ftruncate(file_.descriptor(), 0) != 0) {  // and all that measuring wrote
    throw core::fail(ErrorCode::kIo, "spill file in {}: cannot be emptied: {}", directory_,
                     message(errno));
  }
  if (size > Bytes(0)) {
    const int error = ::posix_fallocate(file_.descriptor(), 0, size.count());
    if (error != 0) {
      throw core::fail(ErrorCode::kIo, "spill file in {}: cannot reserve {} ({} bytes): {}",
                       directory_, size.str(), size.count(), message(error));
    }
  }
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->reserve(transfers);
}

void SpillStore::submit(Transfer& transfer) { lanes_[index(transfer.direction)]->submit(transfer); }

void SpillStore::wait(const Transfer& transfer) const {
  Transfer::State state = transfer.state.load(std::memory_order_acquire);
  while (state == Transfer::kUnderWay) {
    transfer.state.wait(state, std::memory_order_acquire);
    state = transfer.state.load(std::memory_order_acquire);
  }
  LT_CHECK(state != Transfer::kIdle, "submit comes before wait");
  if (state == Transfer::kFailed) throw failure(transfer);
}

Error SpillStore::failure(const Transfer& transfer) const {
  return core::fail(ErrorCode::kIo, "spill file in {}: cannot {} {} bytes at {}: {}", directory_,
                    transfer.direction == Direction::kStore ? "store" : "fetch",
                    transfer.memory.size(), transfer.offset.count(), message(transfer.error));
}

void SpillStore::move(Direction direction, Bytes offset, std::span<std::byte> memory) const {
  Transfer transfer;
  transfer.direction = direction;
  transfer.offset = offset;
  transfer.memory = memory;
  lanes_[index(direction)]->submit(transfer);
  wait(transfer);
}

void SpillStore::read(Bytes offset, std::span<std::byte> bytes) const {
  constexpr Bytes kPiece = 64 * kSpillBlock;
  const Arena piece(kPiece);
  while (!bytes.empty()) {
    const Bytes begin(offset.count() / kSpillBlock.count() * kSpillBlock.count());
    const auto skip = static_cast<std::size_t>((offset - begin).count());
    const std::size_t count =
        std::min(bytes.size(), static_cast<std::size_t>(kPiece.count()) - skip);
    move(Direction::kFetch, begin, {piece.data(), skip + count});
    std::memcpy(bytes.data(), piece.data() + skip, count);
    offset += Bytes(static_cast<std::int64_t>(count));
    bytes = bytes.subspan(count);
  }
}

void SpillStore::write(Bytes offset, std::span<const std::byte> bytes) {
  constexpr Bytes kPiece = 64 * kSpillBlock;
  LT_CHECK(offset.count() % kSpillBlock.count() == 0, "writing begins at whole blocks");
  const Arena piece(kPiece);
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), static_cast<std::size_t>(kPiece.count()));
    std::memcpy(piece.data(), bytes.data(), count);
    move(Direction::kStore, offset, {piece.data(), count});
    offset += Bytes(static_cast<std::int64_t>(count));
    bytes = bytes.subspan(count);
  }
}

namespace {

// Threads that compute while it lives, as kernels do beside transfers.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~BusyThreads() {
    stop_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;
  BusyThreads(BusyThreads&&) = delete;
  BusyThreads& operator=(BusyThreads&&) = delete;

 private:
  void work() const {
    volatile double sum = 0;
    while (!stop_.load(std::memory_order_relaxed)) sum = sum * 0.5 + 1;
  }

  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

// Beside kernels, which leave the lanes less time than an idle machine does.
SpillRates SpillStore::measure(int kernel_threads) {
  const BusyThreads kernels(kernel_threads);
  constexpr Bytes kPiece = Bytes(4 << 20);
  constexpr int kMost = 16;
  constexpr double kLongEnough = 0.1;  // seconds
  const Arena memory(2 * kPiece);
  const auto piece_size = static_cast<std::size_t>(kPiece.count());
  // Pages that were never touched would be read from nowhere.
  std::memset(memory.data(), 1, 2 * piece_size);
  const std::span<std::byte> out(memory.data(), piece_size);
  const std::span<std::byte> in(memory.data() + piece_size, piece_size);
  move(Direction::kStore, Bytes(0), out);
  std::array<double, 2> busy = {};
  int pieces = 0;
  // Each round stores one of two pieces while it fetches the other.
  for (const auto start = Clock::now();
       pieces < kMost && (pieces == 0 || seconds(start, Clock::now()) < kLongEnough); ++pieces) {
    Transfer store;
    store.offset = (pieces + 1) % 2 * kPiece;
    store.memory = out;
    Transfer fetch;
    fetch.direction = Direction::kFetch;
    fetch.offset = pieces % 2 * kPiece;
    fetch.memory = in;
    const auto begin = Clock::now();
    submit(store);
    submit(fetch);
    wait(fetch);
    wait(store);
    busy[0] += seconds(begin, store.finished);
    busy[1] += seconds(begin, fetch.finished);
  }
  const auto moved = static_cast<double>(kPiece.count()) * pieces;
  return {.store = moved / busy[0], .fetch = moved / busy[1]};
}

}  // namespace lowtide::memory
