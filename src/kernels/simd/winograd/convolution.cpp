#include <algorithm>

#include "core/parallel.h"
#include "kernels/simd/product/block.h"
#include "kernels/simd/winograd/pixels.h"
#include "kernels/simd/winograd/tiles.h"
#include "kernels/simd/winograd/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/winograd/convolution.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/product/tiles-inl.h"
#include "kernels/simd/winograd/transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// A panel of weights, whose nine places are vectors of channels out, for `channels` channels in.
HWY_ATTR void TransformWeights(
    const float* taps, std::int64_t channels, bool flipped, float* values, std::int64_t stride) {
  const std::int64_t width = panel_width();
  for (std::int64_t c = 0; c < channels; ++c, taps += 9 * width, values += width) {
    for (std::int64_t i = 0; i < width; i += lanes()) {
      transform_tile<WeightTransform>(
          [&](int row, int column) HWY_ATTR {
            const int tap = 3 * row + column;
            return hn::LoadU(D(), taps + (flipped ? 8 - tap : tap) * width + i);
          },
          [&](int row, int column, V v)
              HWY_ATTR { hn::StoreU(v, D(), values + (kTilePixels * row + column) * stride + i); });
    }
  }
}

HWY_ATTR void TransformOutput(const float* products,
                              std::int64_t stride,
                              std::int64_t channels,
                              const float* bias,
                              float* const* windows) {
  const auto transform = [&](std::int64_t i, std::int64_t count, auto store_at) HWY_ATTR {
    const V added = bias == nullptr ? hn::Zero(D()) : load(bias + i, count);
    transform_tile<OutputTransform>(
        [&](int row, int column) HWY_ATTR {
          return hn::LoadU(D(), products + (kTilePixels * row + column) * stride + i);
        },
        [&](int row, int column, V v)
            HWY_ATTR { store_at(hn::Add(v, added), windows[kTileWindows * row + column] + i); });
  };
  std::int64_t i = 0;
  for (; i + lanes() <= channels; i += lanes()) {
    transform(i, lanes(), [](V v, float* at) HWY_ATTR { hn::StoreU(v, D(), at); });
  }
  if (i == channels) return;
  const std::int64_t rest = channels - i;
  transform(i, rest, [&](V v, float* at) HWY_ATTR { store_some(v, at, rest); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(TransformWeights);
HWY_EXPORT(TransformOutput);

namespace {

constexpr int kTaps = 9;
constexpr std::int64_t kChannelsPacked = 32;  // of weights at a time
// Transformed weights are made and used for some channels out at a time, so that they stay in a
// last cache,
constexpr std::int64_t kWeightFloats = std::int64_t{1} << 20;
// and tiles taken together so that theirs stay in a second one, as long as the weights are read
// seldom enough.
constexpr std::int64_t kTileFloats = 96 * 1024;
constexpr std::int64_t kFewestTiles = 4 * kTileRows;
constexpr std::int64_t kMostTiles = 24 * kTileRows;

// How the work is cut, and where in scratch its parts lie.
class Division {
 public:
  Division(const WinogradShape& shape, std::int64_t threads)
      : width(packed_panel_width()),
        panels((shape.channels_out + width - 1) / width),
        panels_together(std::clamp<std::int64_t>(
            kWeightFloats / (kPoints * shape.channels_in * width), 1, panels)),
        channels_in(shape.channels_in),
        values_row(rounded_up(shape.channels_in, width / 2)),
        products_row(panels_together * width) {
    const std::int64_t tiles = TileGrid(shape).count();
    const std::int64_t wanted =
        std::clamp(kTileFloats / (kPoints * (values_row + products_row)), kFewestTiles, kMostTiles);
    blocks = rounded_up(std::max<std::int64_t>((tiles + wanted - 1) / wanted, 1), threads);
    tiles_together = rounded_up((tiles + blocks - 1) / blocks, kTileRows);
  }

  [[nodiscard]] std::int64_t weights_point() const {
    return point_stride(panels_together * channels_in * width);
  }
  [[nodiscard]] std::int64_t values_point() const {
    return point_stride(tiles_together * values_row);
  }
  [[nodiscard]] std::int64_t products_point() const {
    return point_stride(tiles_together * products_row);
  }
  [[nodiscard]] std::int64_t taps() const { return kChannelsPacked * kTaps * width; }
  [[nodiscard]] std::int64_t edge() const { return std::max(values_row, products_row); }
  // Of one thread.
  [[nodiscard]] std::int64_t own() const {
    return std::max(taps(), kPoints * (values_point() + products_point()) + edge());
  }
  [[nodiscard]] std::int64_t floats(std::int64_t threads) const {
    return kPoints * weights_point() + threads * own();
  }

  std::int64_t width;
  std::int64_t panels;
  std::int64_t panels_together;
  std::int64_t channels_in;
  std::int64_t values_row;  // floats of a tile at one point
  std::int64_t products_row;
  std::int64_t blocks;
  std::int64_t tiles_together;
};

// Transforms the weights of `count` channels in, from `first` on, for one panel of channels out.
void transform_weights(const WinogradShape& shape,
                       const Division& d,
                       WinogradWeights weights,
                       const float* w,
                       std::int64_t panel,
                       std::int64_t first,
                       float* taps,
                       float* values) {
  const std::int64_t count = std::min(kChannelsPacked, shape.channels_in - first);
  const std::int64_t out = panel * d.width;
  const std::int64_t n = std::min(d.width, shape.channels_out - out);
  const bool flipped = weights == WinogradWeights::kFlipped;
  if (flipped) {
    for (std::int64_t c = 0; c < count; ++c) {
      const float* const rows = w + ((first + c) * shape.channels_out + out) * kTaps;
      pack_rows(rows, kTaps, kTaps, n, taps + c * kTaps * d.width);
    }
  } else {
    const float* const rows = w + (out * shape.channels_in + first) * kTaps;
    pack_rows(rows, shape.channels_in * kTaps, count * kTaps, n, taps);
  }
  HWY_DYNAMIC_DISPATCH(TransformWeights)
  (taps, count, flipped, values + first * d.width, d.weights_point());
}

// What a block of tiles is convolved with: some panels of channels out.
struct Filter {
  const float* values;
  std::int64_t first;  // channel out
  std::int64_t channels;
  const float* bias;  // of the first channel; null without one
};

// The products of a tile to its windows, in each of the outputs that has channels of the filter.
void transform_outputs(const TileGrid& grid,
                       std::int64_t tile,
                       const Filter& filter,
                       const float* products,
                       std::int64_t stride,
                       std::span<const WinogradOutput> outputs,
                       float* edge) {
  std::int64_t first = 0;  // channel of the output
  for (const WinogradOutput& output : outputs) {
    const std::int64_t begin = std::max(filter.first, first);
    const std::int64_t end = std::min(filter.first + filter.channels, first + output.channels);
    if (begin < end) {
      const auto windows = grid.windows(tile, output.y + (begin - first), output.channels, edge);
      const std::int64_t at = begin - filter.first;
      HWY_DYNAMIC_DISPATCH(TransformOutput)
      (products + at, stride, end - begin, filter.bias == nullptr ? nullptr : filter.bias + at,
       windows.data());
    }
    first += output.channels;
  }
}

void convolve_block(const WinogradShape& shape,
                    const Division& d,
                    const Filter& filter,
                    std::int64_t block,
                    const float* x,
                    std::span<const WinogradOutput> outputs,
                    float* own) {
  const TileGrid grid(shape);
  const std::int64_t begin = block * d.tiles_together;
  const std::int64_t end = std::min(begin + d.tiles_together, grid.count());
  if (begin >= end) return;
  float* const edge = own;
  float* const values = edge + d.edge();
  float* const products = values + kPoints * d.values_point();
  std::fill_n(edge, shape.channels_in, 0.0F);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const auto pixels = grid.pixels(tile, x, shape.channels_in, edge);
    transform_pixels(pixels.data(), shape.channels_in,
                     {.at = values + (tile - begin) * d.values_row,
                      .row = d.values_row,
                      .panel = d.width,
                      .point = d.values_point()});
  }
  for (int point = 0; point < kPoints; ++point) {
    multiply_block(
        {.left = {values + point * d.values_point(), d.values_row, 1, kTileRows * d.values_row},
         .rows = rounded_up(end - begin, kTileRows),
         .packed = filter.values + point * d.weights_point(),
         .count = shape.channels_in,
         .n = rounded_up(filter.channels, d.width),
         .y = products + point * d.products_point(),
         .stride = d.products_row});
  }
  for (std::int64_t tile = begin; tile < end; ++tile) {
    transform_outputs(grid, tile, filter, products + (tile - begin) * d.products_row,
                      d.products_point(), outputs, edge);
  }
}

template <class F>
void for_each_thread(std::int64_t threads, F&& f) {
  core::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) f(thread);
  });
}

}  // namespace

bool suits_winograd(const WinogradShape& shape) {
  constexpr std::int64_t kFewestChannels = 16;
  constexpr std::int64_t kTilesWorthOfWeights = 4;  // what it takes to transform these
  const WindowAxes& axes = shape.axes;
  const bool squares = axes[0].in == 1 && axes[0].out == 1 && axes[0].kernel == 1 &&
                       std::all_of(axes.begin() + 1, axes.end(), [](const WindowAxis& axis) {
                         return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
                       });
  if (!squares || std::min(shape.channels_in, shape.channels_out) < kFewestChannels) return false;
  const std::int64_t direct = kTaps * shape.samples * axes[1].out * axes[2].out;
  return direct >= 2 * kPoints * (TileGrid(shape).count() + kTilesWorthOfWeights);
}

std::int64_t winograd_scratch(const WinogradShape& shape) {
  const std::int64_t threads = core::parallel_parts();
  return Division(shape, threads).floats(threads);
}

void winograd_convolution(const WinogradShape& shape,
                          WinogradWeights weights,
                          const float* x,
                          const float* w,
                          const float* bias,
                          std::span<const WinogradOutput> outputs,
                          float* scratch) {
  const std::int64_t threads = core::parallel_parts();
  const Division d(shape, threads);
  float* const own = scratch + kPoints * d.weights_point();
  const std::int64_t chunks = (shape.channels_in + kChannelsPacked - 1) / kChannelsPacked;
  for (std::int64_t panel = 0; panel < d.panels; panel += d.panels_together) {
    const std::int64_t panels = std::min(d.panels_together, d.panels - panel);
    for_each_thread(threads, [&](std::int64_t thread) {
      for (std::int64_t i = thread; i < panels * chunks; i += threads) {
        transform_weights(shape, d, weights, w, panel + i / chunks, i % chunks * kChannelsPacked,
                          own + thread * d.own(), scratch + i / chunks * d.channels_in * d.width);
      }
    });
    const std::int64_t first = panel * d.width;
    const Filter filter{.values = scratch,
                        .first = first,
                        .channels = std::min(panels * d.width, shape.channels_out - first),
                        .bias = bias == nullptr ? nullptr : bias + first};
    for_each_thread(threads, [&](std::int64_t thread) {
      for (std::int64_t block = thread; block < d.blocks; block += threads) {
        convolve_block(shape, d, filter, block, x, outputs, own + thread * d.own());
      }
    });
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
