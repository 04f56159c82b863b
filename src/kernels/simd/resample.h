// Weighted sums of rows, found by tables along one or more axes: what resizing comes down to.
#pragma once

#include <cstdint>
#include <span>

namespace lowtide::kernels {

// One axis of the result. Its place i takes weight[k] times what lies offset[k] elements along the
// input, for all k in [first[i], first[i + 1]); without tables it takes what lies i * stride along.
struct ResampleAxis {
  std::int64_t length = 1;
  std::int64_t stride = 0;
  const std::int64_t* first = nullptr;
  const std::int64_t* offset = nullptr;
  const double* weight = nullptr;
};

// y is contiguous, with rows of `row` floats behind its axes; each is the sum, over all
// combinations of the axes' taps, of the products of their weights times a row of x. Rows without
// taps are filled with `empty`.
void resample(
    std::span<const ResampleAxis> axes, std::int64_t row, float empty, const float* x, float* y);

}  // namespace lowtide::kernels
