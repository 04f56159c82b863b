// How an image is cut into tiles for Winograd's filtering: four by four windows each, which read
// six by six pixels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/simd/product/tiles.h"
#include "kernels/simd/winograd/winograd.h"

namespace lowtide::kernels {

inline constexpr int kTileWindows = 4;
inline constexpr int kTilePixels = 6;
inline constexpr int kPoints = kTilePixels * kTilePixels;

// Between the values of one point and those of the next stands a line of the cache, so that those
// of a tile do not meet in few sets of it.
constexpr std::int64_t point_stride(std::int64_t floats) { return floats + 16; }

// Tile i of the batch, sample after sample, row after row.
class TileGrid {
 public:
  explicit TileGrid(const WinogradShape& shape)
      : rows_(shape.axes[1]),
        columns_(shape.axes[2]),
        tile_rows_(rounded_up(rows_.out, kTileWindows) / kTileWindows),
        tile_columns_(rounded_up(columns_.out, kTileWindows) / kTileWindows),
        count_(shape.samples * tile_rows_ * tile_columns_) {}

  [[nodiscard]] std::int64_t count() const { return count_; }

  // Where the tile's pixels begin in x, which has `channels`; `outside` stands for padding.
  std::array<const float*, kPoints> pixels(std::int64_t tile,
                                           const float* x,
                                           std::int64_t channels,
                                           const float* outside) const {
    const Corner c = corner(tile);
    return places<kTilePixels>(x + c.sample * rows_.in * columns_.in * channels, channels, outside,
                               {rows_.position(c.row, 0), rows_.in},
                               {columns_.position(c.column, 0), columns_.in});
  }

  // Where the tile's windows begin in y or dy, which has `channels`; `outside` stands for those
  // past the last one.
  template <class T>
  std::array<T*, kTileWindows * kTileWindows> windows(std::int64_t tile,
                                                      T* y,
                                                      std::int64_t channels,
                                                      T* outside) const {
    const Corner c = corner(tile);
    return places<kTileWindows>(y + c.sample * rows_.out * columns_.out * channels, channels,
                                outside, {c.row, rows_.out}, {c.column, columns_.out});
  }

 private:
  // The first window of a tile.
  struct Corner {
    std::int64_t sample;
    std::int64_t row;
    std::int64_t column;
  };

  struct Along {
    std::int64_t first;
    std::int64_t size;

    [[nodiscard]] bool has(std::int64_t i) const { return first + i >= 0 && first + i < size; }
  };

  [[nodiscard]] Corner corner(std::int64_t tile) const {
    const std::int64_t row = tile / tile_columns_;
    return {row / tile_rows_, row % tile_rows_ * kTileWindows, tile % tile_columns_ * kTileWindows};
  }

  template <int kSize, class T>
  static std::array<T*, std::size_t{kSize} * kSize> places(
      T* image, std::int64_t channels, T* outside, Along rows, Along columns) {
    std::array<T*, std::size_t{kSize} * kSize> at;
    std::size_t next = 0;
    for (int i = 0; i < kSize; ++i) {
      T* const row = image + (rows.first + i) * columns.size * channels;
      for (int j = 0; j < kSize; ++j) {
        const bool inside = rows.has(i) && columns.has(j);
        at[next++] = inside ? row + (columns.first + j) * channels : outside;
      }
    }
    return at;
  }

  WindowAxis rows_;
  WindowAxis columns_;
  std::int64_t tile_rows_;
  std::int64_t tile_columns_;
  std::int64_t count_;
};

}  // namespace lowtide::kernels
