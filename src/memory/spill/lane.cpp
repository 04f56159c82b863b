#include "memory/spill/lane.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/check.h"

namespace lowtide::memory {
namespace {

constexpr auto kBlock = static_cast<std::size_t>(kSpillBlock.count());

}  // namespace

Lane::Lane(Direction direction, std::unique_ptr<Engine> engine, bool direct)
    : direction_(direction),
      engine_(std::move(engine)),
      direct_(direct),
      parts_(engine_->depth()),
      tails_(static_cast<std::byte*>(std::aligned_alloc(kBlock, engine_->depth() * kBlock))),
      waiting_(64) {
  if (!tails_) throw std::bad_alloc();
  for (std::uint32_t tag = 0; tag < engine_->depth(); ++tag) free_.push_back(tag);
  thread_ = std::thread(&Lane::work, this);
  static_cast<void>(::pthread_setname_np(
      thread_.native_handle(), direction == Direction::kStore ? "spill-store" : "spill-fetch"));
}

Lane::~Lane() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Lane::reserve(std::size_t capacity) {
  const std::scoped_lock lock(mutex_);
  if (capacity > waiting_.size()) grow(capacity);
}

void Lane::grow(std::size_t capacity) {
  std::rotate(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_),
              waiting_.end());
  first_ = 0;
  waiting_.resize(capacity);
}

void Lane::submit(Transfer& transfer) {
  LT_CHECK(transfer.state != Transfer::kUnderWay, "a transfer is submitted once at a time");
  LT_CHECK(transfer.offset.count() % kSpillBlock.count() == 0, "transfers begin at whole blocks");
  LT_CHECK(!direct_ || reinterpret_cast<std::uintptr_t>(transfer.memory.data()) %
                               static_cast<std::uintptr_t>(kSpillAlignment.count()) ==
                           0,
           "transfers begin at aligned memory");
  transfer.begun = 0;
  transfer.left = transfer.memory.size();
  transfer.error = 0;
  if (transfer.left == 0) {
    transfer.state = Transfer::kDone;
    return;
  }
  transfer.state = Transfer::kUnderWay;
  {
    const std::scoped_lock lock(mutex_);
    if (count_ == waiting_.size()) grow(2 * count_);
    waiting_[(first_ + count_) % waiting_.size()] = &transfer;
    ++count_;
  }
  changed_.notify_one();
}

// The next transfer to begin; null if there is none now or, when waiting, ever.
Transfer* Lane::next(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) changed_.wait(lock, [&] { return stop_ || count_ > 0; });
  if (stop_ || count_ == 0) return nullptr;
  Transfer* const transfer = waiting_[first_];
  first_ = (first_ + 1) % waiting_.size();
  --count_;
  return transfer;
}

void Lane::work() {
  while (true) {
    while (!free_.empty()) {
      const bool idle = free_.size() == parts_.size();
      if (current_ == nullptr) current_ = next(idle);
      if (current_ == nullptr) break;
      begin_part(*current_);
    }
    if (free_.size() == parts_.size()) return;  // told to stop, and nothing is under way
    end_part(engine_->finish());
  }
}

std::byte* Lane::tail(std::uint32_t tag) const { return tails_.get() + tag * kBlock; }

void Lane::begin_part(Transfer& transfer) {
  const std::uint32_t tag = free_.back();
  free_.pop_back();
  const std::size_t left = transfer.memory.size() - transfer.begun;
  Part part{.owner = &transfer,
            .block = {.data = transfer.memory.data() + transfer.begun,
                      .size = std::min(left, engine_->block_size()),
                      .offset = transfer.offset.count() + static_cast<std::int64_t>(transfer.begun),
                      .tag = tag}};
  part.useful = part.block.size;
  if (direct_ && part.block.size % kBlock != 0) {
    part.block.size -= part.block.size % kBlock;
    part.useful = part.block.size;
    if (part.block.size == 0) {  // the last bytes, less than a block
      part.through_tail = true;
      part.useful = left;
      if (direction_ == Direction::kStore) {
        std::memcpy(tail(tag), part.block.data, left);
        std::memset(tail(tag) + left, 0, kBlock - left);
      }
      part.block.data = tail(tag);
      part.block.size = kBlock;
    }
  }
  transfer.begun += part.useful;
  if (transfer.begun == transfer.memory.size()) current_ = nullptr;
  parts_[tag] = part;
  engine_->begin(part.block);
}

void Lane::end_part(const Completion& completion) {
  Part& part = parts_[completion.tag];
  if (completion.result <= 0) {
    // Moving nothing is how a file that ends too early looks.
    free_.push_back(completion.tag);
    settle(*part.owner, part.useful, completion.result == 0 ? EIO : int(-completion.result));
    return;
  }
  const auto moved = static_cast<std::size_t>(completion.result);
  if (moved < part.block.size && part.owner->error == 0) {
    if (!part.through_tail) {
      settle(*part.owner, moved, 0);
      part.useful -= moved;
    }
    part.block.data += moved;
    part.block.size -= moved;
    part.block.offset += static_cast<std::int64_t>(moved);
    engine_->begin(part.block);
    return;
  }
  if (part.through_tail && direction_ == Direction::kFetch) {
    std::memcpy(part.owner->memory.data() + (part.owner->memory.size() - part.useful),
                tail(completion.tag), part.useful);
  }
  free_.push_back(completion.tag);
  settle(*part.owner, part.useful, 0);
}

// Counts bytes as through. A transfer that failed begins no more parts.
void Lane::settle(Transfer& transfer, std::size_t bytes, int error) {
  if (error != 0 && transfer.error == 0) {
    transfer.error = error;
    transfer.left -= transfer.memory.size() - transfer.begun;
    transfer.begun = transfer.memory.size();
    if (current_ == &transfer) current_ = nullptr;
  }
  transfer.left -= bytes;
  if (transfer.left > 0) return;
  transfer.finished = std::chrono::steady_clock::now();
  transfer.state.store(transfer.error == 0 ? Transfer::kDone : Transfer::kFailed,
                       std::memory_order_release);
  transfer.state.notify_all();
}

}  // namespace lowtide::memory
