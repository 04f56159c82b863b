// The kernels of convolution, transposed convolution and their gradients.
#pragma once

#include <memory>

#include "graph/kernel.h"
#include "kernels/dnnl/convolution.h"
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

bool weight_gradient_suits_tiles(const Conv& a, const graph::Signature& types);
Bytes weight_gradient_tiles_scratch(const Conv& a, const graph::Signature& types);
void run_weight_gradient_tiles(const Conv& a, const graph::Signature& types, const graph::Run& run);

}  // namespace lowtide::ops
