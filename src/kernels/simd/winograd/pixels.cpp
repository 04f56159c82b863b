#include "kernels/simd/winograd/pixels.h"

#include <algorithm>

#include "kernels/simd/winograd/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/winograd/pixels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/product/tiles-inl.h"
#include "kernels/simd/winograd/transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_ATTR void TransformPixels(const float* const* pixels,
                              std::int64_t channels,
                              const TileValues& values) {
  const auto transform = [&](std::int64_t i, auto load_at) HWY_ATTR {
    float* const to = values.at + i / panel_width() * values.panel + i % panel_width();
    transform_tile<InputTransform>(
        [&](int row, int column)
            HWY_ATTR { return load_at(pixels[kTilePixels * row + column] + i); },
        [&](int row, int column, V v)
            HWY_ATTR { hn::StoreU(v, D(), to + (kTilePixels * row + column) * values.point); });
  };
  std::int64_t i = 0;
  for (; i + lanes() <= channels; i += lanes()) {
    transform(i, [](const float* at) HWY_ATTR { return hn::LoadU(D(), at); });
  }
  for (; i < values.row; i += lanes()) {
    const std::int64_t rest = std::max<std::int64_t>(channels - i, 0);
    transform(i, [&](const float* at) HWY_ATTR { return load_some(at, rest); });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(TransformPixels);

void transform_pixels(const float* const* pixels, std::int64_t channels, const TileValues& values) {
  HWY_DYNAMIC_DISPATCH(TransformPixels)(pixels, channels, values);
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
