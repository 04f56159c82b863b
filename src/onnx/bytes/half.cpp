#include "onnx/bytes/half.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/half.h"
#include "core/text.h"

namespace lowtide::onnx {
namespace {

constexpr std::size_t kWidth = sizeof(std::uint16_t);

// Drops the lowest bits of a number, to the nearest, ties to even.
std::uint32_t without_bits(std::uint32_t number, unsigned bits) {
  const std::uint32_t below_half = (1U << (bits - 1)) - 1;
  return (number + below_half + (number >> bits & 1U)) >> bits;
}

std::uint16_t rounded_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const float size = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < std::ldexp(1.0F, -14)) {
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 24)));
    return static_cast<std::uint16_t>(sign | steps);
  }
  const std::uint32_t rebased = (bits & 0x7FFFFFFFU) - (112U << 23U);
  return static_cast<std::uint16_t>(sign | without_bits(rebased, 13));
}

std::uint16_t rounded_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>(without_bits(bits, 16));
}

}  // namespace

float half_to_float(Half half, std::uint16_t bits) {
  return half == Half::kFloat16 ? core::from_float16(bits)
                                : std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

std::uint16_t float_to_half(Half half, float value) {
  return half == Half::kFloat16 ? rounded_float16(value) : rounded_bfloat16(value);
}

std::vector<std::byte> widened(Half half, std::span<const std::byte> halves) {
  std::vector<std::byte> floats(halves.size() / kWidth * sizeof(float));
  for (std::size_t i = 0; i < halves.size() / kWidth; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, halves.data() + i * kWidth, kWidth);
    const float value = half_to_float(half, bits);
    std::memcpy(floats.data() + i * sizeof(float), &value, sizeof(float));
  }
  return floats;
}

ByteSource rounded(Half half, ByteSource floats, std::string name) {
  return [half, floats = std::move(floats), name = std::move(name)](std::int64_t offset,
                                                                    std::span<std::byte> into) {
    LT_CHECK(offset % 2 == 0 && into.size() % kWidth == 0, "halves are written whole");
    std::vector<float> values(into.size() / kWidth);
    floats(offset / 2 * std::int64_t{sizeof(float)}, std::as_writable_bytes(std::span(values)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t bits = float_to_half(half, values[i]);
      if (std::isfinite(values[i]) && !std::isfinite(half_to_float(half, bits))) {
        throw core::fail(ErrorCode::kNumeric, "tensor '{}': {} is too large for {}", name,
                         values[i], half == Half::kFloat16 ? "float16" : "bfloat16");
      }
      std::memcpy(into.data() + i * kWidth, &bits, kWidth);
    }
  };
}

}  // namespace lowtide::onnx
