// What matrix products made of tiles share: how the left side is packed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lowtide::kernels {

inline constexpr int kTileRows = 6;
inline constexpr std::int64_t kWidestPanel = 32;  // columns, on any instruction set

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

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

}  // namespace lowtide::kernels
