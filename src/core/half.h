// float16: IEEE 754's binary16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace lowtide::core {

// Exact.
inline float from_float16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = half >> 10U & 31U;
  const std::uint32_t fraction = half & 1023U;
  if (exponent == 0) {
    return std::copysign(std::ldexp(static_cast<float>(fraction), -24), std::bit_cast<float>(sign));
  }
  const std::uint32_t rebased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | rebased << 23U | fraction << 13U);
}

}  // namespace lowtide::core
