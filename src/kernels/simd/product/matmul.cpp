#include "kernels/simd/product/matmul.h"

#include <algorithm>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/product/matmul.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/product/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

std::int64_t PanelWidth() { return panel_width(); }

void PackColumns(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  pack_columns(b, stride, count, n, packed);
}

void PackRows(
    const float* b, std::int64_t stride, std::int64_t count, std::int64_t n, float* packed) {
  pack_rows(b, stride, count, n, packed);
}

void MultiplyBlock(const ProductBlock& block) { multiply_block(block); }

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

namespace {

// A packed panel of 256 x 16 fills half of a small first cache, 16 such panels half of a small
// second one, and so do the rows that meet them.
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kRows = 16 * kTileRows;

// Floats that one thread packs into: first the right side, then the left one.
struct Scratch {
  explicit Scratch(const MatmulShape& shape) {
    const std::int64_t width = HWY_DYNAMIC_DISPATCH(PanelWidth)();
    const std::int64_t depth = std::min(kDepth, shape.depth);
    const std::int64_t panels = (std::min(kColumns, shape.columns) + width - 1) / width;
    const std::int64_t rows = shape.transpose_a ? std::min(kRows, shape.rows) : kTileRows;
    right = depth * panels * width;
    left = (rows + kTileRows - 1) / kTileRows * tile_stride(depth);
  }

  [[nodiscard]] std::int64_t floats() const { return right + left; }

  std::int64_t right = 0;
  std::int64_t left = 0;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// One product of the batch.
struct Product {
  const MatmulShape& shape;
  const float* a;
  const float* b;
  const float* bias;
  float* y;
};

void pack_right(const Product& p, Range depth, Range columns, float* packed) {
  const std::int64_t count = depth.end - depth.begin;
  const std::int64_t n = columns.end - columns.begin;
  if (p.shape.transpose_b) {
    const float* const rows = p.b + columns.begin * p.shape.depth + depth.begin;
    HWY_DYNAMIC_DISPATCH(PackRows)(rows, p.shape.depth, count, n, packed);
  } else {
    const float* const rows = p.b + depth.begin * p.shape.columns + columns.begin;
    HWY_DYNAMIC_DISPATCH(PackColumns)(rows, p.shape.columns, count, n, packed);
  }
}

// Multiplies rows of the left side, at most kRows of them, with the packed right side.
void multiply_rows(const Product& p, Range depth, Range rows, ProductBlock block, float* packed) {
  const std::int64_t count = depth.end - depth.begin;
  const std::int64_t all = rows.end - rows.begin;
  block.y += rows.begin * p.shape.columns;
  if (p.shape.transpose_a) {
    pack_tiles(p.a + depth.begin * p.shape.rows + rows.begin, p.shape.rows, count, all, packed);
    block.left = {packed, 1, kTileRows, tile_stride(count)};
    block.rows = all;
    HWY_DYNAMIC_DISPATCH(MultiplyBlock)(block);
    return;
  }
  // Whole tiles are read where they lie; what is left is packed, so that no row beyond is read.
  const float* const first = p.a + rows.begin * p.shape.depth + depth.begin;
  block.rows = all / kTileRows * kTileRows;
  block.left = {first, p.shape.depth, 1, kTileRows * p.shape.depth};
  HWY_DYNAMIC_DISPATCH(MultiplyBlock)(block);
  if (block.rows == all) return;
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const std::int64_t row = block.rows + r;
      packed[k * kTileRows + r] = row < all ? first[row * p.shape.depth + k] : 0.0F;
    }
  }
  block.y += block.rows * p.shape.columns;
  block.rows = all - block.rows;
  block.left = {packed, 1, kTileRows, 0};
  HWY_DYNAMIC_DISPATCH(MultiplyBlock)(block);
}

// The part of y that one thread computes.
void multiply_part(const Product& p, Range rows, Range columns, float* scratch) {
  float* const packed_rows = scratch + Scratch(p.shape).right;
  for (std::int64_t j = columns.begin; j < columns.end; j += kColumns) {
    const Range some_columns{j, std::min(j + kColumns, columns.end)};
    for (std::int64_t k = 0; k < p.shape.depth; k += kDepth) {
      const Range depth{k, std::min(k + kDepth, p.shape.depth)};
      pack_right(p, depth, some_columns, scratch);
      const bool first = k == 0;
      const ProductBlock block{.packed = scratch,
                               .count = depth.end - depth.begin,
                               .n = some_columns.end - j,
                               .bias = first && p.bias != nullptr ? p.bias + j : nullptr,
                               .y = p.y + j,
                               .stride = p.shape.columns,
                               .add = p.shape.add || !first};
      for (std::int64_t i = rows.begin; i < rows.end; i += kRows) {
        multiply_rows(p, depth, {i, std::min(i + kRows, rows.end)}, block, packed_rows);
      }
    }
  }
}

// Threads share the columns where these are enough to give each whole panels: rows are packed only
// if they lie transposed, so that sharing the rows repeats more work. Else, and where both sides
// are packed and the rows are longer, they share the rows.
void multiply_together(const Product& p, std::int64_t parts, float* scratch) {
  const std::int64_t width = HWY_DYNAMIC_DISPATCH(PanelWidth)();
  const bool rows_longer = p.shape.transpose_a && p.shape.rows > p.shape.columns;
  const bool by_columns = p.shape.columns >= 2 * width * parts && !rows_longer;
  const std::int64_t unit = by_columns ? width : kTileRows;
  const std::int64_t all = by_columns ? p.shape.columns : p.shape.rows;
  const std::int64_t units = (all + unit - 1) / unit;
  const std::int64_t floats = Scratch(p.shape).floats();
  core::parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Range own{std::min(units * i / parts * unit, all),
                      std::min(units * (i + 1) / parts * unit, all)};
      const Range rows = by_columns ? Range{0, p.shape.rows} : own;
      const Range columns = by_columns ? own : Range{0, p.shape.columns};
      multiply_part(p, rows, columns, scratch + i * floats);
    }
  });
}

// Where the matrix that goes into product `index` of the batch begins; `own` are the batch
// dimensions of this side, `other` those of the other one.
std::int64_t matrix_of(const std::vector<std::int64_t>& own,
                       const std::vector<std::int64_t>& other,
                       std::int64_t index) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  for (std::size_t i = own.size(); i-- > 0;) {
    const std::int64_t dim = std::max(own[i], other[i]);
    if (own[i] != 1) at += index % dim * stride;
    index /= dim;
    stride *= own[i];
  }
  return at;
}

std::int64_t products(const MatmulShape& shape) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.batch_a.size(); ++i) {
    count *= std::max(shape.batch_a[i], shape.batch_b[i]);
  }
  return count;
}

}  // namespace

std::int64_t matmul_scratch(const MatmulShape& shape) {
  return core::parallel_parts() * Scratch(shape).floats();
}

void matmul(const MatmulShape& shape,
            const float* a,
            const float* b,
            const float* bias,
            float* y,
            float* scratch) {
  const std::int64_t count = products(shape);
  const std::int64_t parts = core::parallel_parts();
  const std::int64_t floats = Scratch(shape).floats();
  const auto product = [&](std::int64_t i) {
    return Product{shape, a + matrix_of(shape.batch_a, shape.batch_b, i) * shape.rows * shape.depth,
                   b + matrix_of(shape.batch_b, shape.batch_a, i) * shape.depth * shape.columns,
                   bias, y + i * shape.rows * shape.columns};
  };
  if (count < parts) {
    for (std::int64_t i = 0; i < count; ++i) multiply_together(product(i), parts, scratch);
    return;
  }
  core::parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
        multiply_part(product(i), {0, shape.rows}, {0, shape.columns}, scratch + part * floats);
      }
    }
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
