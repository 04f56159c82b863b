// The kernels of MatMulUpdate.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/matmul_update/matmul_update.h"

namespace lowtide::ops {

// The parts of the op, for some rows of the gradient: g = a' c, an update with it.
struct MatMulUpdateParts {
  MatMulUpdateParts(const MatMulUpdate& a, graph::Types in, std::int64_t rows);

  const graph::OpDef& update_op;
  graph::Attrs product;
  graph::Attrs update;
  std::vector<graph::TensorType> product_in;
  graph::TensorType gradient;
  std::vector<graph::TensorType> update_in;
};

std::vector<graph::Kernel<MatMulUpdate>> matmul_update_kernels();

}  // namespace lowtide::ops
