// Arithmetic on two float tensors with broadcasting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide::kernels {

enum class BinaryFunction : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,          // NaN where either is
  kMax,          // likewise
  kPRelu,        // a > 0 ? a : b a
  kPReluSlope,   // its derivative in a: 1 or b
  kShare,        // what a has of the gradient of max(a, b): 0 where a < b, 1/2 where equal, else 1
  kSame,         // 1 where a == b, else 0
  kPowBase,      // d/da a^b = b a^(b-1); 0 where b is 0
  kPowExponent,  // d/db a^b = a^b log a; 0 where a is 0 and b >= 0
};

// One loop of a nest over a contiguous result: its length and how far each operand moves with a
// step (0: it is broadcast along this loop).
struct BroadcastLoop {
  std::int64_t length = 1;
  std::int64_t a = 0;
  std::int64_t b = 0;
};

inline constexpr std::size_t kMaxBroadcastLoops = 8;

// y[...] = f(a[...], b[...]) over 1 to kMaxBroadcastLoops loops, outermost first. Along the last
// one each operand moves by 1 or 0. y may be a or b where that one is not broadcast at all.
void binary(BinaryFunction f,
            const float* a,
            const float* b,
            float* y,
            std::span<const BroadcastLoop> loops);

}  // namespace lowtide::kernels
