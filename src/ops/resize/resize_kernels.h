// The kernels of resizing and of its gradient, which is a resizing with the taps transposed.
#pragma once

#include <memory>

#include "graph/op_def.h"
#include "ops/resize/resize.h"

namespace lowtide::ops {

// float32 by SIMD; null for other types.
std::unique_ptr<graph::BoundKernel> bind_simd_resize(const Resize& a,
                                                     const graph::Signature& types,
                                                     const core::Machine& machine);
std::unique_ptr<graph::BoundKernel> bind_reference_resize(const Resize& a,
                                                          const graph::Signature& types,
                                                          const core::Machine& machine);
std::unique_ptr<graph::BoundKernel> bind_simd_resize_gradient(const ResizeGradient& a,
                                                              const graph::Signature& types,
                                                              const core::Machine& machine);
std::unique_ptr<graph::BoundKernel> bind_reference_resize_gradient(const ResizeGradient& a,
                                                                   const graph::Signature& types,
                                                                   const core::Machine& machine);

}  // namespace lowtide::ops
