// The kernels of gathering from and scattering to computed places.
#pragma once

#include <memory>
#include <vector>

#include "graph/op_def.h"
#include "ops/indexing/indexing.h"

namespace lowtide::ops {

// The lengths of the data's axes that each index, or each coordinate of a tuple, counts along.
std::vector<std::int64_t> indexed_lengths(const Indexing& at,
                                          const core::Shape& data,
                                          const core::Shape& indices);

// Where each index or tuple leads in the data, in elements; -1 for outside.
std::vector<std::int64_t> entry_places(const Indexing& at,
                                       const core::TensorType& data,
                                       const graph::ConstantTensor& indices);

std::unique_ptr<graph::BoundKernel> bind_gather(const Indexing& at,
                                                const graph::Signature& types,
                                                const core::Machine& machine);
std::unique_ptr<graph::BoundKernel> bind_scatter(const Scatter& a,
                                                 const graph::Signature& types,
                                                 const core::Machine& machine);

}  // namespace lowtide::ops
