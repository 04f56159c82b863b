#include "kernels/simd/dropout.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/dropout.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint32_t>;
using V = hn::Vec<D>;

// Elements whose words are drawn at a time; a multiple of what four of the widest vectors hold.
constexpr std::int64_t kSpan = 1024;

#if HWY_TARGET == HWY_SCALAR

HWY_ATTR void DrawWords(std::uint64_t key,
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
HWY_ATTR void DrawWords(std::uint64_t key,
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

HWY_ATTR void ApplyWords(const std::uint32_t* words,
                         std::uint32_t threshold,
                         float factor,
                         const float* x,
                         float* y,
                         std::int64_t n) {
  const D d;
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V limit = hn::Set(d, threshold);
  const auto scale = hn::Set(df, factor);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto dropped = hn::RebindMask(df, hn::Lt(hn::LoadU(d, words + i), limit));
    hn::StoreU(hn::IfThenZeroElse(dropped, hn::Mul(hn::LoadU(df, x + i), scale)), df, y + i);
  }
  for (; i < n; ++i) y[i] = words[i] >= threshold ? x[i] * factor : 0.0F;
}

// Elements [begin, end) of one sample that lies as it is numbered; begin is a multiple of 4.
HWY_ATTR void DropElements(const DropoutStream& stream,
                           std::uint64_t high,
                           float factor,
                           const float* x,
                           float* y,
                           std::int64_t begin,
                           std::int64_t end) {
  HWY_ALIGN std::uint32_t words[kSpan];
  for (std::int64_t i = begin; i < end; i += kSpan) {
    const std::int64_t count = std::min(kSpan, end - i);
    DrawWords(stream.key, static_cast<std::uint64_t>(i) / 4, high, (count + 3) / 4, words);
    ApplyWords(words, stream.threshold, factor, x + i, y + i, count);
  }
}

// Pixels [begin, end) of one channels-last sample, in tiles of channels and pixels: words are drawn
// along the pixels of a channel, and used across the channels of a pixel.
HWY_ATTR void DropPixels(const DropoutStream& stream,
                         std::uint64_t high,
                         float factor,
                         const float* x,
                         float* y,
                         const DropoutShape& shape,
                         std::int64_t begin,
                         std::int64_t end) {
  constexpr std::int64_t kChannels = 16;
  constexpr std::int64_t kPixels = 120;  // with up to 3 words before it, 4 vectors of 32 words
  constexpr std::int64_t kRow = 128;
  HWY_ALIGN std::uint32_t words[kChannels * kRow];
  std::int64_t offsets[kChannels];
  for (std::int64_t p = begin; p < end; p += kPixels) {
    const std::int64_t pixels = std::min(kPixels, end - p);
    for (std::int64_t c = 0; c < shape.channels; c += kChannels) {
      const std::int64_t channels = std::min(kChannels, shape.channels - c);
      for (std::int64_t k = 0; k < channels; ++k) {
        const std::int64_t element = (c + k) * shape.pixels + p;
        offsets[k] = k * kRow + element % 4;
        DrawWords(stream.key, static_cast<std::uint64_t>(element) / 4, high,
                  (element % 4 + pixels + 3) / 4, words + k * kRow);
      }
      for (std::int64_t i = 0; i < pixels; ++i) {
        const std::int64_t at = (p + i) * shape.channels + c;
        for (std::int64_t k = 0; k < channels; ++k) {
          y[at + k] = words[offsets[k] + i] >= stream.threshold ? x[at + k] * factor : 0.0F;
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(DropElements);
HWY_EXPORT(DropPixels);

namespace {

constexpr std::int64_t kElementsPerThread = 8192;
// Samples are cut into pieces of this many elements, or pixels where they are channels-last.
constexpr std::int64_t kPiece = 4096;

}  // namespace

void dropout(const float* x,
             float* y,
             float factor,
             const DropoutStream& stream,
             const DropoutShape& shape) {
  const std::int64_t elements = shape.channels * shape.pixels;
  if (elements == 0) return;
  const std::int64_t walked = shape.channels_last ? shape.pixels : elements;
  const std::int64_t pieces = (walked + kPiece - 1) / kPiece;
  const std::int64_t piece_elements = elements / pieces;
  const auto share = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t sample = i / pieces;
      const std::int64_t first = i % pieces * kPiece;
      const std::int64_t last = std::min(first + kPiece, walked);
      const std::uint64_t high =
          stream.step << 32U | (stream.first_sample + static_cast<std::uint64_t>(sample));
      const float* const from = x + sample * elements;
      float* const to = y + sample * elements;
      if (shape.channels_last) {
        HWY_DYNAMIC_DISPATCH(DropPixels)(stream, high, factor, from, to, shape, first, last);
      } else {
        HWY_DYNAMIC_DISPATCH(DropElements)(stream, high, factor, from, to, first, last);
      }
    }
  };
  core::parallel_for(shape.samples * pieces, kElementsPerThread / piece_elements + 1, share);
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
