#include "core/random.h"

#include <cmath>
#include <numbers>

namespace lowtide::core {

std::uint32_t RandomStream::word() {
  if (used_ == 4) {
    block_ = philox(key_, counter_++, stream_);
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Rejects the incomplete last cycle of [0, 2^64), so every residue is equally likely.
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
  while (true) {
    const std::uint64_t high = word();
    const std::uint64_t draw = (high << 32U) | word();
    if (draw <= limit) return draw % bound;
  }
}

double RandomStream::uniform() {
  const std::uint64_t high = word();
  return static_cast<double>(((high << 32U) | word()) >> 11U) * 0x1.0p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace lowtide::core
