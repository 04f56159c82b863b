// MatmulShape: the sizes of a batch of matrix products.
#pragma once

#include <cstdint>
#include <vector>

namespace lowtide::kernels {

// y = op(a) op(b) + bias, or that added to y, for every matrix of a batch, float32, row-major.
// Batch dimensions of both sides have the same number and broadcast where one of them is 1. No size
// may be 0.
struct MatmulShape {
  std::vector<std::int64_t> batch_a;
  std::vector<std::int64_t> batch_b;
  std::int64_t rows = 0;     // of y
  std::int64_t columns = 0;  // of y
  std::int64_t depth = 0;    // what is summed over
  bool transpose_a = false;  // a lies as depth x rows
  bool transpose_b = false;  // b lies as columns x depth
  bool bias = false;         // a third input: one row, added to every row of y
  bool add = false;          // to what y holds
};

// The same products with the fewest batch dimensions: neighbours that broadcast alike become one,
// those of one matrix vanish, and where all matrices of a meet the same b they are one tall matrix.
MatmulShape simplified(const MatmulShape& shape);

}  // namespace lowtide::kernels
