// The kernels of the elementwise ops on two tensors.
#pragma once

#include <memory>

#include "graph/op_def.h"
#include "ops/binary/binary.h"

namespace lowtide::ops {

// float32 by SIMD, for the kinds it knows; null for others.
std::unique_ptr<graph::BoundKernel> bind_simd_binary(const Binary& a,
                                                     const graph::Signature& types,
                                                     const core::Machine& machine);

std::unique_ptr<graph::BoundKernel> bind_reference_binary(const Binary& a,
                                                          const graph::Signature& types,
                                                          const core::Machine& machine);

}  // namespace lowtide::ops
