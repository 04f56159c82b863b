#include "kernels/simd/product/block.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/product/block.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/product/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kLineFloats = 16;  // of a cache line

std::int64_t PanelWidth() { return panel_width(); }

HWY_ATTR void PackColumns(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  const std::int64_t width = panel_width();
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t left = std::min(lanes(), n - j);
    const std::int64_t right = std::min(lanes(), n - j - left);
    const float* row = b + j;
    for (std::int64_t k = 0; k < count; ++k, row += stride, packed += width) {
      hn::StoreU(load(row, left), D(), packed);
      hn::StoreU(load(row + left, right), D(), packed + lanes());
    }
  }
}

// packed[k * width + i] = rows[i * stride + k] for four i and all k < count.
HWY_ATTR void transpose_four(
    const float* rows, std::int64_t stride, std::int64_t count, std::int64_t width, float* packed) {
  std::int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  for (; k + 4 <= count; k += 4) {
    const auto r0 = hn::LoadU(d, rows + k);
    const auto r1 = hn::LoadU(d, rows + stride + k);
    const auto r2 = hn::LoadU(d, rows + 2 * stride + k);
    const auto r3 = hn::LoadU(d, rows + 3 * stride + k);
    const auto even_low = hn::InterleaveLower(d, r0, r2);
    const auto odd_low = hn::InterleaveLower(d, r1, r3);
    const auto even_high = hn::InterleaveUpper(d, r0, r2);
    const auto odd_high = hn::InterleaveUpper(d, r1, r3);
    float* const to = packed + k * width;
    hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
    hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + width);
    hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * width);
    hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * width);
  }
#endif
  for (; k < count; ++k) {
    for (std::int64_t i = 0; i < 4; ++i) packed[k * width + i] = rows[i * stride + k];
  }
}

HWY_ATTR void PackRows(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  const std::int64_t width = panel_width();
  for (std::int64_t j = 0; j < n; j += width, packed += count * width) {
    std::int64_t i = 0;
    for (; i + 4 <= width && j + i + 4 <= n; i += 4) {
      transpose_four(b + (j + i) * stride, stride, count, width, packed + i);
    }
    for (; i < width; ++i) {
      for (std::int64_t k = 0; k < count; ++k) {
        packed[k * width + i] = j + i < n ? b[(j + i) * stride + k] : 0.0F;
      }
    }
  }
}

// A tile that sticks out of y goes through a copy of what it covers.
HWY_ATTR void store_part(Tile t,
                         const ProductBlock& block,
                         std::int64_t i,
                         std::int64_t j,
                         std::int64_t rows,
                         std::int64_t n) {
  float copy[kTileRows * kWidestPanel];
  t.for_each_row([&](TileRow& row, std::int64_t r)
                     HWY_ATTR { row.store(copy + r * panel_width()); });
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const y = block.y + (i + r) * block.stride + j;
    for (std::int64_t c = 0; c < n; ++c) {
      float sum = copy[r * panel_width() + c];
      if (block.bias != nullptr) sum += block.bias[j + c];
      y[c] = block.add ? y[c] + sum : sum;
    }
  }
}

// Row i and column j of y, for the tile that begins there.
HWY_ATTR void store_sums(Tile t, const ProductBlock& block, std::int64_t i, std::int64_t j) {
  const std::int64_t rows = std::min<std::int64_t>(kTileRows, block.rows - i);
  const std::int64_t n = std::min(panel_width(), block.n - j);
  if (rows < kTileRows || n < panel_width()) {
    store_part(t, block, i, j, rows, n);
    return;
  }
  if (block.bias != nullptr) {
    const float* const bias = block.bias + j;
    t.for_each_row([&](TileRow& row, std::int64_t) HWY_ATTR { row.add_from(bias); });
  }
  store_tile(t, block.y + i * block.stride + j, block.stride, block.add);
}

// What is added to comes from afar: it is on its way while the sums are made.
HWY_ATTR void prefetch(const ProductBlock& block,
                       std::int64_t i,
                       std::int64_t end,
                       std::int64_t j) {
  for (std::int64_t r = i; r < std::min(end, block.rows); ++r) {
    for (std::int64_t c = j; c < std::min(j + panel_width(), block.n); c += kLineFloats) {
      hwy::Prefetch(block.y + r * block.stride + c);
    }
  }
}

HWY_ATTR void MultiplyBlock(const ProductBlock& block) {
  const ProductRows& left = block.left;
  for (std::int64_t j = 0; j < block.n; j += panel_width()) {
    const float* const panel = block.packed + j * block.count;
    const float* a = left.at;
    std::int64_t i = 0;
    if constexpr (kTilesInPairs) {
      for (; i + kTileRows < block.rows; i += 2 * kTileRows, a += 2 * left.tile) {
        prefetch(block, i, i + 2 * kTileRows, j);
        const TilePair t = tile_pair_sums(a, left.tile, left.row, left.step, panel, block.count);
        store_sums(t.first, block, i, j);
        store_sums(t.second, block, i + kTileRows, j);
      }
    }
    for (; i < block.rows; i += kTileRows, a += left.tile) {
      prefetch(block, i, i + kTileRows, j);
      store_sums(tile_sums(a, left.row, left.step, panel, block.count), block, i, j);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(PanelWidth);
HWY_EXPORT(PackColumns);
HWY_EXPORT(PackRows);
HWY_EXPORT(MultiplyBlock);

std::int64_t packed_panel_width() { return HWY_DYNAMIC_DISPATCH(PanelWidth)(); }

void pack_columns(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackColumns)(b, stride, count, n, packed);
}

void pack_rows(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackRows)(b, stride, count, n, packed);
}

void multiply_block(const ProductBlock& block) { HWY_DYNAMIC_DISPATCH(MultiplyBlock)(block); }

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
