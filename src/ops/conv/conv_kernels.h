// The kernels of convolution, transposed convolution and their gradients.
#pragma once

#include <memory>
#include <span>

#include "graph/kernel.h"
#include "kernels/dnnl/convolution.h"
#include "kernels/simd/norm/normalized_input.h"
#include "kernels/simd/winograd/winograd.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace lowtide::ops {

// A oneDNN pass over x, w and y as the convolution has them; null where it does not take the types.
std::unique_ptr<graph::BoundKernel> bind_convolution(kernels::ConvolutionPass pass,
                                                     const Conv& a,
                                                     const core::TensorType& x,
                                                     const core::TensorType& w,
                                                     const core::TensorType& y);

// Plain loops over any layout, summing in double.
void run_conv_reference(const Conv& a, const graph::Signature& types, const graph::Run& run);
void run_conv_weight_gradient_reference(const Conv& a,
                                        const graph::Signature& types,
                                        const graph::Run& run);
void run_conv_transpose_reference(const ConvTranspose& a,
                                  const graph::Signature& types,
                                  const graph::Run& run);

// Winograd's filtering, by tiles of pixels.
bool conv_suits_winograd(const Conv& a, const graph::Signature& types);
Bytes conv_winograd_scratch(const Conv& a, const graph::Signature& types);
void run_conv_winograd(const Conv& a, const graph::Signature& types, const graph::Run& run);
bool conv_transpose_suits_winograd(const ConvTranspose& a, const graph::Signature& types);
Bytes conv_transpose_winograd_scratch(const ConvTranspose& a, const graph::Signature& types);
void run_conv_transpose_winograd(const ConvTranspose& a,
                                 const graph::Signature& types,
                                 const graph::Run& run);
// To tensors side by side; the types are those of the whole.
void run_conv_transpose_winograd_to(const ConvTranspose& a,
                                    const graph::Signature& types,
                                    std::span<const kernels::WinogradOutput> outputs,
                                    const graph::Run& run);
bool weight_gradient_suits_winograd(const Conv& a, const graph::Signature& types);
Bytes weight_gradient_winograd_scratch(const Conv& a, const graph::Signature& types);
void run_weight_gradient_winograd(const Conv& a,
                                  const graph::Signature& types,
                                  const graph::Run& run);
// Of what `normalize` makes of x, or of x itself where it is null.
void run_weight_gradient_winograd_of(const Conv& a,
                                     const graph::Signature& types,
                                     const graph::Run& run,
                                     const kernels::NormalizedInput* normalize);
// Of tensors side by side; the types are those of the whole.
void run_weight_gradient_winograd_of(const Conv& a,
                                     const graph::Signature& types,
                                     std::span<const kernels::WinogradInput> inputs,
                                     const float* dy,
                                     const graph::Run& run);

// Products of packed windows.
bool weight_gradient_suits_tiles(const Conv& a, const graph::Signature& types);
Bytes weight_gradient_tiles_scratch(const Conv& a, const graph::Signature& types);
void run_weight_gradient_tiles(const Conv& a, const graph::Signature& types, const graph::Run& run);
void run_weight_gradient_tiles_of(const Conv& a,
                                  const graph::Signature& types,
                                  const graph::Run& run,
                                  const kernels::NormalizedInput* normalize);

}  // namespace lowtide::ops
