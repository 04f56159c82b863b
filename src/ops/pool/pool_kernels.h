// The kernels of pooling that are plain loops over any layout.
#pragma once

#include "graph/kernel.h"
#include "ops/pool/pool.h"

namespace lowtide::ops {

void run_max_pool_reference(const Pool& a, const graph::Signature& types, const graph::Run& run);
void run_max_pool_index_reference(const Pool& a,
                                  const graph::Signature& types,
                                  const graph::Run& run);
void run_max_pool_gradient_reference(const PoolGradient& a,
                                     const graph::Signature& types,
                                     const graph::Run& run);
void run_max_pool_places(const PoolPlaces& a, const graph::Signature& types, const graph::Run& run);
void run_average_pool_reference(const Pool& a,
                                const graph::Signature& types,
                                const graph::Run& run);
void run_average_pool_gradient_reference(const PoolGradient& a,
                                         const graph::Signature& types,
                                         const graph::Run& run);

}  // namespace lowtide::ops
