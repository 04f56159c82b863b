// Arena: one reservation of memory that a plan lays its buffers out in.
#pragma once

#include <cstddef>

#include "lowtide/bytes.h"

namespace lowtide::memory {

enum class Pages {
  kSmall,
  kHuge,  // asks for transparent huge pages where they fit whole inside the arena
};

// Reserves address space; a page becomes resident (and zero) when it is first touched. The start is
// aligned to a page, so to 64 bytes, and to a huge page where these are asked for and one fits.
// Move-only; a moved-from arena is empty.
class Arena {
 public:
  // Throws Error(kIo) naming the size when the system refuses, Error(kInvalidArgument) when it is
  // negative.
  explicit Arena(Bytes size, Pages pages = Pages::kSmall);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }

  // Gives the pages that lie whole inside [offset, offset + size) back to the system. Their
  // contents are lost: they read as zero afterwards.
  void release(Bytes offset, Bytes size);

 private:
  std::byte* data_ = nullptr;
  Bytes size_;
};

}  // namespace lowtide::memory
