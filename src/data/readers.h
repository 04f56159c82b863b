// Readers: a few threads that share out the samples of a batch.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lowtide::data {

class Readers {
 public:
  // That many threads beside the one that calls for_each(), named "lowtide-read"; negative: none.
  // Fewer where the system starts no more.
  explicit Readers(int threads);
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;
  ~Readers();

  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }

  // Calls f(i) once for each i in [0, count), in any order and on any thread. Of the calls that
  // throw, the error of the least i is thrown here, so it does not depend on the threads.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& f);

 private:
  void work();
  void take_turns(std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> threads_;
  // Of the present for_each(). Guarded by mutex_.
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  std::size_t running_ = 0;
  std::size_t failed_at_ = 0;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable finished_;
};

}  // namespace lowtide::data
