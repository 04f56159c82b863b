// Products of packed sides, on the instruction set in use: what every product made of tiles calls.
#pragma once

#include <cstdint>

#include "kernels/simd/product/tiles.h"

namespace lowtide::kernels {

// Columns of a packed panel.
std::int64_t packed_panel_width();

// Columns [0, n) of `count` rows, `stride` apart, as panels; the last one is filled up with zeros.
void pack_columns(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed);
// The same panels of a matrix that lies transposed: its rows are the columns.
void pack_rows(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed);

// The left side of a product: a(i, k) lies at at + i / 6 * tile + i % 6 * row + k * step.
struct ProductRows {
  const float* at = nullptr;
  std::int64_t row = 0;
  std::int64_t step = 0;
  std::int64_t tile = 0;
};

// y (+)= left times packed panels (+ bias): `rows` times `n` elements, `count` products each.
struct ProductBlock {
  ProductRows left = {};
  std::int64_t rows = 0;
  const float* packed = nullptr;
  std::int64_t count = 0;
  std::int64_t n = 0;
  const float* bias = nullptr;  // null without one
  float* y = nullptr;
  std::int64_t stride = 0;  // of the rows of y
  bool add = false;
};

void multiply_block(const ProductBlock& block);

}  // namespace lowtide::kernels
