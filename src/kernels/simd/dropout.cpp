#include "kernels/simd/dropout.h"

#include <algorithm>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/dropout.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = philox::D;
using V = philox::V;

// Elements whose words are drawn at a time; a multiple of what four of the widest vectors hold.
constexpr std::int64_t kSpan = 1024;

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
    philox::draw(stream.key, static_cast<std::uint64_t>(i) / 4, high, (count + 3) / 4, words);
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
        philox::draw(stream.key, static_cast<std::uint64_t>(element) / 4, high,
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
