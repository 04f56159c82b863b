// The kernels of the elementwise functions of one tensor.
#pragma once

#include "graph/op_def.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

// Whether the gradient kernel of these attributes takes y = f(x) rather than x.
bool derivative_from_output(const Unary& a);

// f(x), and f'(x), in double precision: what the references compute by.
double unary_value(const Unary& a, double x);
double unary_derivative(const Unary& a, double x);

// float32 by SIMD.
bool simd_takes_unary(const Unary& a, const graph::Signature& types);
void run_simd_unary(const Unary& a, const graph::Signature& types, const graph::Run& run);
bool simd_takes_unary_gradient(const Unary& a, const graph::Signature& types);
void run_simd_unary_gradient(const Unary& a, const graph::Signature& types, const graph::Run& run);

void run_reference_unary(const Unary& a, const graph::Signature& types, const graph::Run& run);
void run_reference_unary_gradient(const Unary& a,
                                  const graph::Signature& types,
                                  const graph::Run& run);

bool simd_takes_mask(const RangeMask& a, const graph::Signature& types);
void run_simd_mask(const RangeMask& a, const graph::Signature& types, const graph::Run& run);
void run_reference_mask(const RangeMask& a, const graph::Signature& types, const graph::Run& run);
bool simd_takes_mask_gradient(const MaskGradient& a, const graph::Signature& types);
void run_simd_mask_gradient(const MaskGradient& a,
                            const graph::Signature& types,
                            const graph::Run& run);
void run_reference_mask_gradient(const MaskGradient& a,
                                 const graph::Signature& types,
                                 const graph::Run& run);

}  // namespace lowtide::ops
