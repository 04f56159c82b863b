#include <liburing.h>

#include <cerrno>

#include "core/check.h"
#include "memory/spill/engine.h"

namespace lowtide::memory {
namespace {

constexpr std::uint32_t kDepth = 8;

class UringEngine final : public Engine {
 public:
  UringEngine(int descriptor, Direction direction)
      : descriptor_(descriptor), direction_(direction) {
    ready_ = ::io_uring_queue_init(kDepth, &ring_, 0) == 0;
  }

  ~UringEngine() override {
    if (ready_) ::io_uring_queue_exit(&ring_);
  }

  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;
  UringEngine(UringEngine&&) = delete;
  UringEngine& operator=(UringEngine&&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }

  [[nodiscard]] std::uint32_t depth() const override { return kDepth; }

  [[nodiscard]] std::size_t block_size() const override { return std::size_t{1} << 20U; }

  void begin(const Block& block) override {
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    LT_CHECK(entry != nullptr, "no more blocks than the ring has entries");
    const auto size = static_cast<unsigned>(block.size);
    const auto offset = static_cast<std::uint64_t>(block.offset);
    if (direction_ == Direction::kStore) {
      ::io_uring_prep_write(entry, descriptor_, block.data, size, offset);
    } else {
      ::io_uring_prep_read(entry, descriptor_, block.data, size, offset);
    }
    ::io_uring_sqe_set_data64(entry, block.tag);
    int taken = 0;
    do taken = ::io_uring_submit(&ring_);
    while (taken == -EINTR || taken == -EAGAIN || taken == -EBUSY);
    LT_CHECK(taken >= 0, "the ring takes what it has room for");
  }

  Completion finish() override {
    io_uring_cqe* entry = nullptr;
    int waited = 0;
    do waited = ::io_uring_wait_cqe(&ring_, &entry);
    while (waited == -EINTR);
    LT_CHECK(waited == 0, "the ring answers");
    const Completion completion{static_cast<std::uint32_t>(::io_uring_cqe_get_data64(entry)),
                                entry->res};
    ::io_uring_cqe_seen(&ring_, entry);
    return completion;
  }

 private:
  int descriptor_;
  Direction direction_;
  io_uring ring_ = {};
  bool ready_ = false;
};

}  // namespace

std::unique_ptr<Engine> make_uring_engine(int descriptor, Direction direction) {
  auto engine = std::make_unique<UringEngine>(descriptor, direction);
  if (!engine->ready()) return nullptr;
  return engine;
}

}  // namespace lowtide::memory
