#include "kernels/simd/product/matmul.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/simd/product/block.h"

namespace lowtide::kernels {
namespace {

// How much of the sides is packed at a time, at most. A block of the left side, 96 x 512, stays in
// a small second cache while the panels of the right side pass by; each of these, 512 x 16, stays
// in the first one while it meets the block's tiles. The deeper, the less often y is read and
// written.
constexpr std::int64_t kDepth = 512;
constexpr std::int64_t kColumns = 1024;
constexpr std::int64_t kRows = 16 * kTileRows;

// The size of a few parts of about the same size, of at most `most` and whole units.
std::int64_t even_part(std::int64_t all, std::int64_t most, std::int64_t unit) {
  const std::int64_t parts = std::max<std::int64_t>((all + most - 1) / most, 1);
  return (all + parts * unit - 1) / (parts * unit) * unit;
}

// Floats that one thread packs into: first the right side, then the left one.
struct Scratch {
  explicit Scratch(const MatmulShape& shape) {
    const std::int64_t width = packed_panel_width();
    const std::int64_t depth = std::min(kDepth, shape.depth);
    const std::int64_t panels = (std::min(kColumns, shape.columns) + width - 1) / width;
    right = depth * panels * width;
    left = (std::min(kRows, shape.rows) + kTileRows - 1) / kTileRows * tile_stride(depth);
  }

  [[nodiscard]] std::int64_t floats() const { return right + left; }

  std::int64_t right = 0;
  std::int64_t left = 0;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
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
  if (p.shape.transpose_b) {
    const float* const rows = p.b + columns.begin * p.shape.depth + depth.begin;
    pack_rows(rows, p.shape.depth, depth.size(), columns.size(), packed);
  } else {
    const float* const rows = p.b + depth.begin * p.shape.columns + columns.begin;
    pack_columns(rows, p.shape.columns, depth.size(), columns.size(), packed);
  }
}

// Packed even where rows could be read where they lie: rows a multiple of a page apart meet in few
// sets of a cache.
void pack_left(const Product& p, Range depth, Range rows, float* packed) {
  if (p.shape.transpose_a) {
    pack_tiles(p.a + depth.begin * p.shape.rows + rows.begin, p.shape.rows, depth.size(),
               rows.size(), packed);
  } else {
    pack_rows_as_tiles(p.a + rows.begin * p.shape.depth + depth.begin, p.shape.depth, rows.size(),
                       depth.size(), packed);
  }
}

// The part of y that one thread computes.
void multiply_part(const Product& p, Range rows, Range columns, float* scratch) {
  float* const packed_rows = scratch + Scratch(p.shape).right;
  const std::int64_t width = packed_panel_width();
  const std::int64_t columns_together = even_part(columns.size(), kColumns, width);
  const std::int64_t depth_together = even_part(p.shape.depth, kDepth, 1);
  for (std::int64_t j = columns.begin; j < columns.end; j += columns_together) {
    const Range some_columns{j, std::min(j + columns_together, columns.end)};
    for (std::int64_t k = 0; k < p.shape.depth; k += depth_together) {
      const Range depth{k, std::min(k + depth_together, p.shape.depth)};
      pack_right(p, depth, some_columns, scratch);
      for (std::int64_t i = rows.begin; i < rows.end; i += kRows) {
        const Range some_rows{i, std::min(i + kRows, rows.end)};
        pack_left(p, depth, some_rows, packed_rows);
        multiply_block({.left = {packed_rows, 1, kTileRows, tile_stride(depth.size())},
                        .rows = some_rows.size(),
                        .packed = scratch,
                        .count = depth.size(),
                        .n = some_columns.size(),
                        .bias = k == 0 && p.bias != nullptr ? p.bias + j : nullptr,
                        .y = p.y + i * p.shape.columns + j,
                        .stride = p.shape.columns,
                        .add = p.shape.add || k != 0});
      }
    }
  }
}

// Threads share the longer side of y: each packs all of the other one's.
void multiply_together(const Product& p, std::int64_t parts, float* scratch) {
  const std::int64_t width = packed_panel_width();
  const bool by_columns = p.shape.columns >= p.shape.rows && p.shape.columns >= 2 * width * parts;
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
