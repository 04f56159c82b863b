#include "data/readers.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace lowtide::data {

Readers::Readers(int threads) {
  threads_.reserve(static_cast<std::size_t>(std::max(threads, 0)));
  for (int i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back(&Readers::work, this);
    } catch (const std::system_error&) {  // fewer do the same work
      return;
    }
  }
}

Readers::~Readers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Readers::for_each(std::size_t count, const std::function<void(std::size_t)>& f) {
  std::unique_lock lock(mutex_);
  task_ = &f;
  next_ = 0;
  count_ = count;
  error_ = nullptr;
  started_.notify_all();
  take_turns(lock);
  finished_.wait(lock, [this] { return running_ == 0; });
  count_ = 0;
  task_ = nullptr;
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Readers::work() {
  ::pthread_setname_np(::pthread_self(), "lowtide-read");
  std::unique_lock lock(mutex_);
  while (true) {
    started_.wait(lock, [this] { return stopping_ || next_ < count_; });
    if (stopping_) return;
    take_turns(lock);
  }
}

// Turns are handed out in ascending order, and none after a failure: the least failure is among
// those that were handed out.
void Readers::take_turns(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t turn = next_++;
    const std::function<void(std::size_t)>& task = *task_;
    ++running_;
    lock.unlock();
    std::exception_ptr error;
    try {
      task(turn);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (error != nullptr && (error_ == nullptr || turn < failed_at_)) {
      error_ = std::move(error);
      failed_at_ = turn;
      next_ = count_;
    }
  }
  if (running_ == 0) finished_.notify_all();
}

}  // namespace lowtide::data
