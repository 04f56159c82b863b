// Transfer: one copy between memory and the spill file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lowtide/bytes.h"

namespace lowtide::memory {

enum class Direction : std::uint8_t {
  kStore,  // memory to file
  kFetch,  // file to memory
};

// Places in the file that transfers begin at are multiples of this: every device's block divides
// it.
inline constexpr Bytes kSpillBlock{4096};
// Memory that transfers begin at is aligned to this: what direct I/O asks of memory.
inline constexpr Bytes kSpillAlignment{512};

// Owned by the caller, like the memory; both must stay from submit() until wait() has returned or
// thrown. May be submitted again then.
struct Transfer {
  enum State : std::uint32_t { kIdle, kUnderWay, kDone, kFailed };

  Direction direction = Direction::kStore;
  Bytes offset;                 // in the file, a multiple of kSpillBlock
  std::span<std::byte> memory;  // of any size; aligned to kSpillAlignment

  std::atomic<State> state = kIdle;
  std::chrono::steady_clock::time_point finished;  // when it was through
  // What the lane that moves it has still to do; an errno value once it failed.
  std::size_t begun = 0;
  std::size_t left = 0;
  int error = 0;
};

}  // namespace lowtide::memory
