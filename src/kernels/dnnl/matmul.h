// Matrix products by oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/dnnl/computation.h"

namespace lowtide::kernels {

// y = op(a) op(b) + bias for every matrix of a batch, float32, row-major. Batch dimensions of both
// sides have the same number and broadcast where one of them is 1. No size may be 0.
struct MatmulShape {
  std::vector<std::int64_t> batch_a;
  std::vector<std::int64_t> batch_b;
  std::int64_t rows = 0;     // of y
  std::int64_t columns = 0;  // of y
  std::int64_t depth = 0;    // what is summed over
  bool transpose_a = false;  // a lies as depth x rows
  bool transpose_b = false;  // b lies as columns x depth
  bool bias = false;         // a third input: one row, added to every row of y
};

// Inputs a, b and, if the shape says so, bias. Null where oneDNN has no fast implementation.
std::unique_ptr<Computation> make_matmul(const MatmulShape& shape);

}  // namespace lowtide::kernels
