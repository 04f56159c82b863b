// StateMemory: the present bytes of state values, wherever each of them lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/spill/store.h"
#include "train/fit/state_layout.h"

namespace lowtide::train {

// Looks at the arena, and at the spill file where some state lives there. Not while a program runs.
class StateMemory {
 public:
  StateMemory(const StatePlaces& places, std::byte* arena, memory::SpillStore* file)
      : places_(&places), arena_(arena), file_(file) {}

  // Bytes of one entry, from `from` on.
  void read(std::size_t entry, std::int64_t from, std::span<std::byte> into) const;
  // The same the other way; `from` must be a multiple of memory::kSpillBlock.
  void write(std::size_t entry, std::int64_t from, std::span<const std::byte> bytes) const;

 private:
  const StatePlaces* places_;
  std::byte* arena_;
  memory::SpillStore* file_;
};

}  // namespace lowtide::train
