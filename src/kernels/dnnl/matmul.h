// Matrix products by oneDNN.
#pragma once

#include <memory>

#include "kernels/dnnl/computation.h"
#include "kernels/matmul_shape.h"

namespace lowtide::kernels {

// Inputs a, b and, if the shape says so, bias. Null where oneDNN has no fast implementation, or
// one that takes memory of its own while it runs.
std::unique_ptr<Computation> make_matmul(const MatmulShape& shape);

}  // namespace lowtide::kernels
