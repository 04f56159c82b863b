// Matrix products by our own tiles: for processors where the library's take memory of their own.
#pragma once

#include <cstdint>

#include "kernels/matmul_shape.h"

namespace lowtide::kernels {

// Floats of scratch for any number of threads up to the pool's size.
std::int64_t matmul_scratch(const MatmulShape& shape);

// y = op(a) op(b) + bias, or more of y, as `shape` says; `bias` is null without one. Each element
// is summed in the same order for any number of threads: at most 1024 products at a time, in
// registers, then over these sums.
void matmul(const MatmulShape& shape,
            const float* a,
            const float* b,
            const float* bias,
            float* y,
            float* scratch);

}  // namespace lowtide::kernels
