// Softmax over contiguous rows.
#pragma once

#include <cstdint>

namespace lowtide::kernels {

// For each of `rows` rows of `n` floats: y = exp(x - max) / sum, or x - max - log(sum) if `log`.
// y may be x. A row whose maximum is -inf gives NaN, as the formula does.
void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log);

// dx = y (dy - sum(y dy)), or dy - exp(y) sum(dy) where y is a log-softmax. dx may be dy or y.
void softmax_rows_gradient(
    const float* y, const float* dy, float* dx, std::int64_t rows, std::int64_t n, bool log);

}  // namespace lowtide::kernels
