#include "kernels/simd/product/matmul.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/simd/product/block.h"

namespace lowtide::kernels {
namespace {

// How much of the sides is copied at a time, at most. A block of the left side, 48 x 1024, stays in
// a small second cache while the panels of the right side pass by. The deeper, the less often y is
// read and written; the more columns, the less often the left side is copied.
constexpr std::int64_t kDepth = 1024;
constexpr std::int64_t kColumns = 768;
constexpr std::int64_t kRows = 8 * kTileRows;

// The size of a few parts of about the same size, of at most `most` and whole units.
std::int64_t even_part(std::int64_t all, std::int64_t most, std::int64_t unit) {
  const std::int64_t parts = std::max<std::int64_t>((all + most - 1) / most, 1);
  return (all + parts * unit - 1) / (parts * unit) * unit;
}

// From one copied row of the left side to the next: a line of the cache more than it takes, so that
// the rows of a tile do not meet in few sets.
constexpr std::int64_t row_stride(std::int64_t depth) { return depth + 16; }

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

// Copied even where rows could be read where they lie: rows a multiple of a page apart meet in few
// sets of a cache. What the last tile lacks is filled up: stale bytes may be slow numbers.
ProductRows copy_left(const Product& p, Range depth, Range rows, float* to) {
  if (p.shape.transpose_a) {
    const float* const from = p.a + depth.begin * p.shape.rows + rows.begin;
    pack_tiles(from, p.shape.rows, depth.size(), rows.size(), to);
    return {.at = to, .row = 1, .step = kTileRows, .tile = tile_stride(depth.size())};
  }
  const std::int64_t whole = rounded_up(rows.size(), kTileRows);
  const std::int64_t row = row_stride(depth.size());
  const float* const from = p.a + rows.begin * p.shape.depth + depth.begin;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    std::copy_n(from + i * p.shape.depth, depth.size(), to + i * row);
  }
  std::fill_n(to + rows.size() * row, (whole - rows.size()) * row, 0.0F);
  return {.at = to, .row = row, .step = 1, .tile = kTileRows * row};
}

// How threads share y, which products of a batch they take leaving aside.
class Sharing {
 public:
  // Threads share the longer side: each copies all of the other one's.
  Sharing(const MatmulShape& shape, std::int64_t parts) : shape_(shape), parts_(parts) {
    const std::int64_t width = packed_panel_width();
    by_columns_ = shape.columns >= shape.rows && shape.columns >= 2 * width * parts;
    unit_ = by_columns_ ? width : kTileRows;
  }

  [[nodiscard]] std::int64_t parts() const { return parts_; }
  [[nodiscard]] Range rows(std::int64_t part) const {
    return by_columns_ ? Range{0, shape_.rows} : share(shape_.rows, part);
  }
  [[nodiscard]] Range columns(std::int64_t part) const {
    return by_columns_ ? share(shape_.columns, part) : Range{0, shape_.columns};
  }

  // Floats that a thread copies the right side into, and all it copies into.
  [[nodiscard]] std::int64_t right() const {
    const std::int64_t columns = by_columns_ ? largest(shape_.columns) : shape_.columns;
    const std::int64_t width = packed_panel_width();
    // A smaller share may be cut into fewer parts than the largest one, so into larger ones.
    const std::int64_t most = std::min(rounded_up(columns, width), rounded_up(kColumns, width));
    return even_part(shape_.depth, kDepth, 1) * most;
  }
  [[nodiscard]] std::int64_t floats() const {
    const std::int64_t rows = by_columns_ ? shape_.rows : largest(shape_.rows);
    return right() + rounded_up(std::min(rows, kRows), kTileRows) *
                         row_stride(even_part(shape_.depth, kDepth, 1));
  }

 private:
  [[nodiscard]] Range share(std::int64_t all, std::int64_t part) const {
    const std::int64_t units = (all + unit_ - 1) / unit_;
    return {std::min(units * part / parts_ * unit_, all),
            std::min(units * (part + 1) / parts_ * unit_, all)};
  }
  [[nodiscard]] std::int64_t largest(std::int64_t all) const {
    const std::int64_t units = (all + unit_ - 1) / unit_;
    return std::min((units + parts_ - 1) / parts_ * unit_, all);
  }

  const MatmulShape& shape_;
  std::int64_t parts_;
  bool by_columns_;
  std::int64_t unit_;  // rows or columns that stay together
};

// The part of y that one thread computes.
void multiply_part(const Product& p, const Sharing& sharing, std::int64_t part, float* scratch) {
  const Range rows = sharing.rows(part);
  const Range columns = sharing.columns(part);
  float* const copied_rows = scratch + sharing.right();
  const std::int64_t columns_together = even_part(columns.size(), kColumns, packed_panel_width());
  const std::int64_t depth_together = even_part(p.shape.depth, kDepth, 1);
  for (std::int64_t j = columns.begin; j < columns.end; j += columns_together) {
    const Range some_columns{j, std::min(j + columns_together, columns.end)};
    for (std::int64_t k = 0; k < p.shape.depth; k += depth_together) {
      const Range depth{k, std::min(k + depth_together, p.shape.depth)};
      pack_right(p, depth, some_columns, scratch);
      for (std::int64_t i = rows.begin; i < rows.end; i += kRows) {
        const Range some_rows{i, std::min(i + kRows, rows.end)};
        multiply_block({.left = copy_left(p, depth, some_rows, copied_rows),
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

// Products that are as many as the threads are each one thread's.
Sharing sharing_of(const MatmulShape& shape, std::int64_t threads) {
  return {shape, products(shape) < threads ? threads : 1};
}

}  // namespace

std::int64_t matmul_scratch(const MatmulShape& shape) {
  const std::int64_t threads = core::parallel_parts();
  return threads * sharing_of(shape, threads).floats();
}

void matmul(const MatmulShape& shape,
            const float* a,
            const float* b,
            const float* bias,
            float* y,
            float* scratch) {
  const std::int64_t count = products(shape);
  const std::int64_t threads = core::parallel_parts();
  const Sharing sharing = sharing_of(shape, threads);
  const auto product = [&](std::int64_t i) {
    return Product{shape, a + matrix_of(shape.batch_a, shape.batch_b, i) * shape.rows * shape.depth,
                   b + matrix_of(shape.batch_b, shape.batch_a, i) * shape.depth * shape.columns,
                   bias, y + i * shape.rows * shape.columns};
  };
  if (sharing.parts() == threads) {
    for (std::int64_t i = 0; i < count; ++i) {
      core::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          multiply_part(product(i), sharing, part, scratch + part * sharing.floats());
        }
      });
    }
    return;
  }
  core::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) {
      for (std::int64_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) {
        multiply_part(product(i), sharing, 0, scratch + thread * sharing.floats());
      }
    }
  });
}

}  // namespace lowtide::kernels
