// The transform of a tile's pixels, which both convolving and the gradient of weights begin with.
#pragma once

#include <cstdint>

#include "kernels/simd/norm/normalized_input.h"

namespace lowtide::kernels {

// Where the values of one tile go: those of a point are rows of `row` channels, a multiple of a
// vector's lanes, cut into stretches of a packed panel's width that lie `panel` floats apart. Those
// before channel `first`, likewise a multiple, are somebody else's.
struct TileValues {
  float* at = nullptr;
  std::int64_t first = 0;
  std::int64_t row = 0;
  std::int64_t panel = 0;
  std::int64_t point = 0;  // from one point to the next
};

// Where pixels are what `normalize` makes of those of x. Those at `outside` stay what they are.
struct NormalizedPixels {
  const NormalizedInput* normalize = nullptr;  // null: all are as they lie
  const float* x = nullptr;
  const float* outside = nullptr;
};

// The 36 pixels of `channels` each to the values at the 36 points; channels past the last one of a
// row are 0.
void transform_pixels(const float* const* pixels,
                      std::int64_t channels,
                      const TileValues& values,
                      const NormalizedPixels& made = {});

}  // namespace lowtide::kernels
