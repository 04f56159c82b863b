// CRC-32C (Castagnoli's polynomial): the checksum of checkpoints and of event files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide::core {

// Of bytes that come piece by piece. Finds every change of up to 32 bits in a row.
class Crc32c {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xFFFFFFFFU;
};

}  // namespace lowtide::core
