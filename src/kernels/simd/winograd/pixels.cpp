#include "kernels/simd/winograd/pixels.h"

#include <algorithm>

#include "kernels/simd/winograd/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/winograd/pixels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/norm/normalized_input-inl.h"
#include "kernels/simd/product/tiles-inl.h"
#include "kernels/simd/winograd/transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// The vectors of channels of a tile: load(pixel, channel) for whole ones, load_rest(pixel, channel,
// channels that are left) for the last ones.
template <class Load, class LoadRest>
HWY_ATTR void transform_channels(const float* const* pixels,
                                 std::int64_t channels,
                                 const TileValues& values,
                                 Load load_whole,
                                 LoadRest load_rest) {
  const auto transform = [&](std::int64_t i, auto load_at) HWY_ATTR {
    const std::int64_t place = values.first + i;
    float* const to = values.at + place / panel_width() * values.panel + place % panel_width();
    transform_tile<InputTransform>(
        [&](int row, int column)
            HWY_ATTR { return load_at(pixels[kTilePixels * row + column], i); },
        [&](int row, int column, V v)
            HWY_ATTR { hn::StoreU(v, D(), to + (kTilePixels * row + column) * values.point); });
  };
  std::int64_t i = 0;
  for (; i + lanes() <= channels; i += lanes()) transform(i, load_whole);
  for (; i < values.row - values.first; i += lanes()) {
    const std::int64_t rest = std::max<std::int64_t>(channels - i, 0);
    transform(i, [&](const float* pixel, std::int64_t channel)
                     HWY_ATTR { return load_rest(pixel, channel, rest); });
  }
}

void TransformPixels(const float* const* pixels, std::int64_t channels, const TileValues& values) {
  transform_channels(
      pixels, channels, values,
      [](const float* pixel, std::int64_t channel)
          HWY_ATTR { return hn::LoadU(D(), pixel + channel); },
      [](const float* pixel, std::int64_t channel, std::int64_t rest)
          HWY_ATTR { return load_some(pixel + channel, rest); });
}

HWY_ATTR void TransformNormalized(const float* const* pixels,
                                  std::int64_t channels,
                                  const TileValues& values,
                                  const NormalizedPixels& made) {
  with_normalized(*made.normalize, made.x, [&](auto value) HWY_ATTR {
    transform_channels(
        pixels, channels, values,
        [&](const float* pixel, std::int64_t channel) HWY_ATTR {
          if (pixel == made.outside) return hn::LoadU(D(), pixel + channel);
          return value(D(), pixel + channel, channel);
        },
        [&](const float* pixel, std::int64_t channel, std::int64_t rest) HWY_ATTR {
          HWY_ALIGN float some[hn::MaxLanes(D())] = {};
          for (std::int64_t i = 0; i < rest; ++i) {
            const hn::CappedTag<float, 1> one;
            const float* const at = pixel + channel + i;
            some[i] = pixel == made.outside ? *at : hn::GetLane(value(one, at, channel + i));
          }
          return hn::Load(D(), some);
        });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(TransformPixels);
HWY_EXPORT(TransformNormalized);

void transform_pixels(const float* const* pixels,
                      std::int64_t channels,
                      const TileValues& values,
                      const NormalizedPixels& made) {
  if (made.normalize == nullptr) {
    HWY_DYNAMIC_DISPATCH(TransformPixels)(pixels, channels, values);
  } else {
    HWY_DYNAMIC_DISPATCH(TransformNormalized)(pixels, channels, values, made);
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
