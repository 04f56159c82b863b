// Memory between canaries, filled with NaN-like garbage, so that stray writes and reads show. To
// AddressSanitizer the canaries are not to be touched; the canaries themselves are for what it does
// not see, such as oneDNN's writes.
#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::support {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(Bytes size)
      : size_(static_cast<std::size_t>(size.count())),
        storage_(size_ + 2 * kGuard + kAlignment, kCanary) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + kGuard;
    begin_ = storage_.data() + kGuard + (kAlignment - address % kAlignment) % kAlignment;
    std::fill_n(begin_, size_, std::byte{0xFF});  // float and double NaN
    forbid_guards();
  }

  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  GuardedBuffer(GuardedBuffer&&) = default;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer() { allow_guards(); }

  [[nodiscard]] std::byte* data() { return begin_; }
  [[nodiscard]] std::span<std::byte> span() { return {begin_, size_}; }

  [[nodiscard]] bool intact() const {
    const auto is_canary = [](std::byte b) { return b == kCanary; };
    allow_guards();
    const bool untouched = std::all_of(begin_ - kGuard, begin_, is_canary) &&
                           std::all_of(begin_ + size_, begin_ + size_ + kGuard, is_canary);
    forbid_guards();
    return untouched;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::byte kCanary{0xA5};

  void forbid_guards() const {
    ASAN_POISON_MEMORY_REGION(begin_ - kGuard, kGuard);
    ASAN_POISON_MEMORY_REGION(begin_ + size_, kGuard);
  }

  // Of what was moved from, nothing is left to allow.
  void allow_guards() const { ASAN_UNPOISON_MEMORY_REGION(storage_.data(), storage_.size()); }

  std::size_t size_;
  std::vector<std::byte> storage_;
  std::byte* begin_ = nullptr;
};

}  // namespace lowtide::support
