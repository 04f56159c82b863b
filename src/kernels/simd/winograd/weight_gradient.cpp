#include <algorithm>

#include "core/parallel.h"
#include "kernels/simd/product/block.h"
#include "kernels/simd/winograd/pixels.h"
#include "kernels/simd/winograd/tiles.h"
#include "kernels/simd/winograd/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/winograd/weight_gradient.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/product/tiles-inl.h"
#include "kernels/simd/winograd/transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// Of the magnitudes summed up, the share that rounding may leave over: four units in the last
// place.
constexpr float kNoise = 0x1p-22F;

// The channels of a tile's gradients to those of its values, filled up to whole vectors.
HWY_ATTR void TransformGradients(const float* const* windows,
                                 std::int64_t channels,
                                 float* values,
                                 std::int64_t stride) {
  for (std::int64_t i = 0; i < channels; i += lanes()) {
    transform_tile<GradientTransform>(
        [&](int row, int column)
            HWY_ATTR { return load(windows[kTileWindows * row + column] + i, channels - i); },
        [&](int row, int column, V v)
            HWY_ATTR { hn::StoreU(v, D(), values + (kTilePixels * row + column) * stride + i); });
  }
}

// Sums of products over the tiles of a block, tile of rows after tile of rows, for one panel.
void AddProducts(const float* gradients,
                 std::int64_t row,
                 const float* pixels,
                 std::int64_t count,
                 std::int64_t tiles,
                 float* sums,
                 bool first) {
  for (std::int64_t i = 0; i < tiles; ++i, sums += kTileRows * panel_width()) {
    const Tile t = tile_sums(gradients + i * kTileRows, 1, row, pixels, count);
    store_tile(t, sums, panel_width(), !first);
  }
}

// The sums at all points to the nine weights of one channel out and one panel of channels in:
// dw[i * 9 + tap] for `count` of them. A gradient that rounding alone may have made is 0: it is 0
// wherever no window met a pixel, and optimizers that divide by a gradient's size would blow up the
// noise.
HWY_ATTR void TransformSums(const float* sums, std::int64_t stride, std::int64_t count, float* dw) {
  constexpr int kTaps = 9;
  const D d;
  HWY_ALIGN float noise[kTaps * hn::MaxLanes(D())];
  HWY_ALIGN float taps[kTaps * hn::MaxLanes(D())];
  for (std::int64_t k = 0; k < count; k += lanes()) {
    const auto sum_at = [&](int row, int column) HWY_ATTR {
      return hn::LoadU(d, sums + (kTilePixels * row + column) * stride + k);
    };
    transform_tile<WeightGradientMagnitude>(
        [&](int row, int column) HWY_ATTR { return hn::Abs(sum_at(row, column)); },
        [&](int row, int column, V v)
            HWY_ATTR { hn::Store(times(kNoise, v), d, noise + (3 * row + column) * lanes()); });
    transform_tile<WeightGradientTransform>(sum_at, [&](int row, int column, V v) HWY_ATTR {
      const std::int64_t at = (3 * row + column) * lanes();
      const auto noisy = hn::Le(hn::Abs(v), hn::Load(d, noise + at));
      hn::Store(hn::IfThenZeroElse(noisy, v), d, taps + at);
    });
    const std::int64_t channels = std::min(lanes(), count - k);
    for (std::int64_t i = 0; i < channels; ++i) {
      for (int tap = 0; tap < kTaps; ++tap) dw[(k + i) * kTaps + tap] = taps[tap * lanes() + i];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(TransformGradients);
HWY_EXPORT(AddProducts);
HWY_EXPORT(TransformSums);

namespace {

constexpr int kTaps = 9;
// Sums are kept for some channels out at a time, so that they stay in a last cache,
constexpr std::int64_t kSumFloats = std::int64_t{5} << 19;
// and tiles taken together so that what they become stays near: the more, the less often sums are
// read and written.
constexpr std::int64_t kTileFloats = std::int64_t{1} << 19;
constexpr std::int64_t kFewestTiles = 48;
constexpr std::int64_t kMostTiles = 192;

// How the work is cut, and how its parts lie in scratch.
struct Division {
  explicit Division(const WinogradShape& shape)
      : width(packed_panel_width()),
        panels((shape.channels_in + width - 1) / width),
        rows(std::clamp<std::int64_t>(kSumFloats / (kPoints * panels * width) / kTileRows,
                                      1,
                                      (shape.channels_out + kTileRows - 1) / kTileRows)),
        gradients_row(rounded_up(rows * kTileRows, width) + 16) {
    const std::int64_t wanted = kTileFloats / (kPoints * (panels * width + gradients_row));
    tiles = std::min(std::clamp(wanted, kFewestTiles, kMostTiles), TileGrid(shape).count());
  }

  [[nodiscard]] std::int64_t panel() const { return tiles * width; }
  [[nodiscard]] std::int64_t pixels_point() const { return point_stride(panels * panel()); }
  [[nodiscard]] std::int64_t gradients_point() const { return tiles * gradients_row; }
  [[nodiscard]] std::int64_t sums_panel() const { return rows * kTileRows * width; }
  [[nodiscard]] std::int64_t sums_point() const { return point_stride(panels * sums_panel()); }
  [[nodiscard]] std::int64_t edge() const { return std::max(panels * width, gradients_row); }
  [[nodiscard]] std::int64_t floats() const {
    return kPoints * (pixels_point() + gradients_point() + sums_point()) + edge();
  }

  std::int64_t width;
  std::int64_t panels;         // of channels in
  std::int64_t rows;           // tiles of channels out, of those summed at a time
  std::int64_t gradients_row;  // floats of a tile at one point
  std::int64_t tiles = 0;      // together
};

// The pixels of a tile to its values.
void transform_inputs(const TileGrid& grid,
                      std::int64_t tile,
                      std::span<const WinogradInput> inputs,
                      const float* edge,
                      const Division& d,
                      float* values) {
  std::int64_t first = 0;
  for (const WinogradInput& input : inputs) {
    const auto pixels = grid.pixels(tile, input.x, input.channels, edge);
    const bool last = &input == &inputs.back();
    transform_pixels(pixels.data(), input.channels,
                     {.at = values,
                      .first = first,
                      .row = last ? d.panels * d.width : first + input.channels,
                      .panel = d.panel(),
                      .point = d.pixels_point()},
                     {.normalize = input.normalize, .x = input.x, .outside = edge});
    first += input.channels;
  }
}

// Where the parts lie.
struct Parts {
  Parts(const Division& d, float* scratch)
      : edge(scratch),
        pixels(edge + d.edge()),
        gradients(pixels + kPoints * d.pixels_point()),
        sums(gradients + kPoints * d.gradients_point()) {}

  float* edge;
  float* pixels;
  float* gradients;
  float* sums;
};

}  // namespace

std::int64_t winograd_weight_gradient_scratch(const WinogradShape& shape) {
  return Division(shape).floats();
}

void winograd_weight_gradient(const WinogradShape& shape,
                              std::span<const WinogradInput> inputs,
                              const float* dy,
                              float* dw,
                              float* scratch) {
  const Division d(shape);
  const Parts parts(d, scratch);
  const TileGrid grid(shape);
  std::fill_n(parts.edge, d.edge(), 0.0F);
  // Rows of gradients are read past their channels, to the end of a tile of rows.
  std::fill_n(parts.gradients, kPoints * d.gradients_point(), 0.0F);
  const std::int64_t together = d.rows * kTileRows;
  for (std::int64_t out = 0; out < shape.channels_out; out += together) {
    const std::int64_t channels = std::min(together, shape.channels_out - out);
    const std::int64_t rows = (channels + kTileRows - 1) / kTileRows;
    for (std::int64_t begin = 0; begin < grid.count(); begin += d.tiles) {
      const std::int64_t count = std::min(d.tiles, grid.count() - begin);
      core::parallel_for(count, 1, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          transform_inputs(grid, begin + i, inputs, parts.edge, d, parts.pixels + i * d.width);
          const auto windows =
              grid.windows<const float>(begin + i, dy + out, shape.channels_out, parts.edge);
          HWY_DYNAMIC_DISPATCH(TransformGradients)
          (windows.data(), channels, parts.gradients + i * d.gradients_row, d.gradients_point());
        }
      });
      core::parallel_for(kPoints, 1, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t point = from; point < to; ++point) {
          for (std::int64_t panel = 0; panel < d.panels; ++panel) {
            HWY_DYNAMIC_DISPATCH(AddProducts)
            (parts.gradients + point * d.gradients_point(), d.gradients_row,
             parts.pixels + point * d.pixels_point() + panel * d.panel(), count, rows,
             parts.sums + point * d.sums_point() + panel * d.sums_panel(), begin == 0);
          }
        }
      });
    }
    core::parallel_for(channels, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t o = from; o < to; ++o) {
        for (std::int64_t panel = 0; panel < d.panels; ++panel) {
          const std::int64_t first = panel * d.width;
          HWY_DYNAMIC_DISPATCH(TransformSums)
          (parts.sums + panel * d.sums_panel() + o * d.width, d.sums_point(),
           std::min(d.width, shape.channels_in - first),
           dw + ((out + o) * shape.channels_in + first) * kTaps);
        }
      }
    });
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
