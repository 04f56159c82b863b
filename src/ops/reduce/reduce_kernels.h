// The kernels of reductions.
#pragma once

#include <memory>

#include "graph/op_def.h"
#include "ops/reduce/reduce.h"

namespace lowtide::ops {

// float32 by SIMD; null for products.
std::unique_ptr<graph::BoundKernel> bind_simd_reduce(const Reduce& a,
                                                     const graph::Signature& types,
                                                     const core::Machine& machine);

std::unique_ptr<graph::BoundKernel> bind_reference_reduce(const Reduce& a,
                                                          const graph::Signature& types,
                                                          const core::Machine& machine);

}  // namespace lowtide::ops
