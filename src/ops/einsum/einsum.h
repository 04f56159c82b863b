// Einsum: sums of products named by subscripts, made of transpositions, sums and products.
#pragma once

#include <string_view>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// As ONNX and numpy write it: "ij,jk->ik", with an ellipsis for axes that broadcast, repeated
// subscripts for diagonals, and an implicit result where there is no arrow. Operands are taken in
// from the left. Throws Error(kInvalidArgument) where the equation does not fit the operands.
graph::ValueId einsum(graph::GraphBuilder& b,
                      std::string_view equation,
                      const std::vector<graph::ValueId>& operands);

std::vector<graph::ValueId> read_einsum(graph::OnnxNode& node);

}  // namespace lowtide::ops
