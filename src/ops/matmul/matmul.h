// MatMul: products of matrices, or of batches of them, with an optional bias row; Gemm.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

// y = op(a) op(c) + bias over the last two axes, where op swaps them if `transpose_*` says so. The
// axes before broadcast as in numpy. `bias` is set by gemm(): there is a third input, one row.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false;

  bool operator==(const MatMul&) const = default;
};

// numpy's matmul: a vector on the left is a row, on the right a column, and its axis is dropped
// from the result; vectors are never transposed.
graph::ValueId matmul(graph::GraphBuilder& b,
                      graph::ValueId a,
                      graph::ValueId c,
                      MatMul attributes = {});

// matmul plus `bias`, which broadcasts to the product; an invalid id means none. A single row
// becomes part of the product's node.
graph::ValueId gemm(graph::GraphBuilder& b,
                    graph::ValueId a,
                    graph::ValueId c,
                    graph::ValueId bias,
                    MatMul attributes = {});

const graph::OpDef& matmul_op();

}  // namespace lowtide::ops
