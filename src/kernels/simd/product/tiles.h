// What matrix products made of tiles share: how the left side is packed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lowtide::kernels {

inline constexpr int kTileRows = 6;
inline constexpr std::int64_t kWidestPanel = 32;  // columns, on any instruction set

// From one tile's packed rows to the next one's: a line more than they take, so that the tiles of
// a row do not meet in few sets of a cache.
constexpr std::int64_t tile_stride(std::int64_t count) { return count * kTileRows + 16; }

// Orders `count` rows of a matrix, `stride` apart, tile after tile: of each row six elements, of
// all rows. `width` elements of each row are used, and the last tile is filled up with zeros.
inline void pack_tiles(
    const float* rows, std::int64_t stride, std::int64_t count, std::int64_t width, float* packed) {
  const std::int64_t whole = width / kTileRows;
  const std::int64_t rest = width % kTileRows;
  for (std::int64_t k = 0; k < count; ++k, rows += stride) {
    float* to = packed + k * kTileRows;
    for (std::int64_t i = 0; i < whole; ++i, to += tile_stride(count)) {
      std::memcpy(to, rows + i * kTileRows, kTileRows * sizeof(float));
    }
    if (rest != 0) {
      std::fill(std::copy_n(rows + whole * kTileRows, rest, to), to + kTileRows, 0.0F);
    }
  }
}

// The same tiles of a matrix that lies transposed: its rows, `stride` apart, of which there are
// `width`, are the columns. The last tile is filled up with its last row.
inline void pack_rows_as_tiles(
    const float* rows, std::int64_t stride, std::int64_t width, std::int64_t count, float* packed) {
  for (std::int64_t i = 0; i < width; i += kTileRows, packed += tile_stride(count)) {
    std::array<const float*, kTileRows> from;
    for (int r = 0; r < kTileRows; ++r) {
      from[static_cast<std::size_t>(r)] = rows + std::min(i + r, width - 1) * stride;
    }
    float* to = packed;
    for (std::int64_t k = 0; k < count; ++k, to += kTileRows) {
      for (int r = 0; r < kTileRows; ++r) to[r] = from[static_cast<std::size_t>(r)][k];
    }
  }
}

}  // namespace lowtide::kernels
