// The words of core::philox for consecutive counters, once for each instruction set.
#if defined(LOWTIDE_KERNELS_SIMD_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_PHILOX_INL_H_
#undef LOWTIDE_KERNELS_SIMD_PHILOX_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_PHILOX_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "core/random.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace philox {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint32_t>;
using V = hn::Vec<D>;

// What a count of words is rounded up to when whole vectors are drawn, at most.
constexpr std::int64_t kSlack = 64;

#if HWY_TARGET == HWY_SCALAR

HWY_ATTR inline void draw(std::uint64_t key,
                          std::uint64_t first,
                          std::uint64_t high,
                          std::int64_t blocks,
                          std::uint32_t* words) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    const core::Philox drawn = core::philox(key, first + static_cast<std::uint64_t>(block), high);
    std::copy(drawn.begin(), drawn.end(), words + 4 * block);
  }
}

#else

struct Product {
  V high;
  V low;
};

// The 64-bit products of 32-bit lanes.
HWY_INLINE Product multiply(V a, V b) {
  const D d;
  const hn::Repartition<std::uint64_t, D> wide;
  const auto even = hn::MulEven(a, b);
  const V a_odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a)));
  const auto odd = hn::MulEven(a_odd, b);
  const V high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  return {high, hn::Mul(a, b)};
}

// Fills words[0, 4 * blocks rounded up to whole vectors) with core::philox(key, first + i, high).
HWY_ATTR inline void draw(std::uint64_t key,
                          std::uint64_t first,
                          std::uint64_t high,
                          std::int64_t blocks,
                          std::uint32_t* words) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V multiplier0 = hn::Set(d, 0xD2511F53U);
  const V multiplier1 = hn::Set(d, 0xCD9E8D57U);
  for (std::int64_t block = 0; block < blocks; block += lanes) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(block);
    const auto low = static_cast<std::uint32_t>(counter);
    V x0 = hn::Iota(d, low);
    // Lanes whose low half wrapped around carry into the upper one.
    const V carry = hn::IfThenElseZero(hn::Lt(x0, hn::Set(d, low)), hn::Set(d, 1));
    V x1 = hn::Add(hn::Set(d, static_cast<std::uint32_t>(counter >> 32U)), carry);
    V x2 = hn::Set(d, static_cast<std::uint32_t>(high));
    V x3 = hn::Set(d, static_cast<std::uint32_t>(high >> 32U));
    auto key0 = static_cast<std::uint32_t>(key);
    auto key1 = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < 10; ++round) {
      const Product p0 = multiply(x0, multiplier0);
      const Product p1 = multiply(x2, multiplier1);
      x0 = hn::Xor(hn::Xor(p1.high, x1), hn::Set(d, key0));
      x2 = hn::Xor(hn::Xor(p0.high, x3), hn::Set(d, key1));
      x1 = p1.low;
      x3 = p0.low;
      key0 += 0x9E3779B9U;
      key1 += 0xBB67AE85U;
    }
    hn::StoreInterleaved4(x0, x1, x2, x3, d, words + 4 * block);
  }
}

#endif

}  // namespace philox
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
