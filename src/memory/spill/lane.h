// Lane: the transfers of one direction, one after another on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory/spill/engine.h"

namespace lowtide::memory {

// Moves transfers in the order they are submitted; the blocks of neighbours may be under way
// together. Allocates nothing while no more transfers wait than reserve() was told.
class Lane {
 public:
  // `direct`: the file takes whole blocks only; tails then go through blocks of the lane's own.
  Lane(Direction direction, std::unique_ptr<Engine> engine, bool direct);
  // What has not begun is dropped; what is under way is waited for, as it uses the caller's memory.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  Lane(Lane&&) = delete;
  Lane& operator=(Lane&&) = delete;

  // Room for that many transfers that are submitted and not yet begun.
  void reserve(std::size_t capacity);
  void submit(Transfer& transfer);

 private:
  struct Part {
    Transfer* owner = nullptr;
    Block block;
    std::size_t useful = 0;  // bytes of the block that are the transfer's
    bool through_tail = false;
  };

  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  void grow(std::size_t capacity);  // the ring; under the lock
  void work();
  Transfer* next(bool wait);
  void begin_part(Transfer& transfer);
  void end_part(const Completion& completion);
  void settle(Transfer& transfer, std::size_t bytes, int error);
  [[nodiscard]] std::byte* tail(std::uint32_t tag) const;

  Direction direction_;
  std::unique_ptr<Engine> engine_;
  bool direct_;
  std::vector<Part> parts_;          // by tag
  std::vector<std::uint32_t> free_;  // tags
  std::unique_ptr<std::byte, Free> tails_;
  Transfer* current_ = nullptr;  // begun, with parts to begin

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Transfer*> waiting_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace lowtide::memory
