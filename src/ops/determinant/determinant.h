// Det: the determinants of square matrices.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

struct Determinant {
  bool operator==(const Determinant&) const = default;
};

// x is (..., n, n) of floats with n >= 1, brought to the plain layout; the result is (...).
// Computed in double. The gradient is right for singular matrices too.
graph::ValueId determinant(graph::GraphBuilder& b, graph::ValueId x);

const graph::OpDef& determinant_op();
// x to the cofactors of its elements: signed determinants of what is left without an element's row
// and column, which are the determinant's derivatives. Takes n^5 operations for each matrix.
const graph::OpDef& cofactors_op();

}  // namespace lowtide::ops
