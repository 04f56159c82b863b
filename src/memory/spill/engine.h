// Engine: how blocks get to a file and back. One thread uses an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/spill/transfer.h"

namespace lowtide::memory {

struct Block {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::int64_t offset = 0;  // in the file
  std::uint32_t tag = 0;    // below depth(); of the caller
};

struct Completion {
  std::uint32_t tag = 0;
  std::int64_t result = 0;  // bytes moved, or a negative errno value
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Blocks that may be under way at once, and how large they should be.
  [[nodiscard]] virtual std::uint32_t depth() const = 0;
  [[nodiscard]] virtual std::size_t block_size() const = 0;
  virtual void begin(const Block& block) = 0;
  // Waits until one of the blocks under way is through.
  virtual Completion finish() = 0;
};

// One pread or pwrite at a time.
std::unique_ptr<Engine> make_blocking_engine(int descriptor, Direction direction);

// Several blocks at a time by io_uring; null where the system does not offer it, or where Lowtide
// was built without liburing.
std::unique_ptr<Engine> make_uring_engine(int descriptor, Direction direction);

}  // namespace lowtide::memory
