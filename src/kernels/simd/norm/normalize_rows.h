// Normalisation of rows: each of `rows` rows of `n` floats by its own mean and deviation.
#pragma once

#include <cstdint>

namespace lowtide::kernels {

struct RowsShape {
  std::int64_t rows = 0;
  std::int64_t n = 0;
};

// y = (x - mean) * inverse * scale + bias, with mean and inverse = 1 / sqrt(variance + epsilon) of
// each row; bias may be null. y may be x.
struct RowNorm {
  const float* x;
  const float* scale;  // [n]
  const float* bias;   // [n] or null
  double epsilon;
  float* y;
  float* mean;     // [rows]
  float* inverse;  // [rows]
};
void normalize_rows(const RowNorm& norm, const RowsShape& shape);

// What both halves of the gradient read.
struct RowNormGradient {
  const float* x;
  const float* dy;
  const float* mean;     // [rows]
  const float* inverse;  // [rows]
};

// dx = inverse (scale dy - mean(scale dy) - z mean(scale dy z)), z = (x - mean) inverse. dx may be
// x or dy.
void normalize_rows_gradient(const RowNormGradient& g,
                             const float* scale,
                             float* dx,
                             const RowsShape& shape);

// Sums over the rows: dscale of dy z, dbias of dy, in double precision over a partition that
// depends on the shape only.
std::int64_t row_sums_scratch(const RowsShape& shape);  // doubles
void normalize_rows_sums(
    const RowNormGradient& g, float* dscale, float* dbias, const RowsShape& shape, double* scratch);

}  // namespace lowtide::kernels
