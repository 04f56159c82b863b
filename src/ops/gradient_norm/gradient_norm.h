// The global norm of all gradients, and the factor that clips it.
#pragma once

#include <optional>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// Inputs: the sums of squares of any number of gradients. Outputs, float32 scalars: their global
// norm; min(1, clip_norm / (norm + 1e-6)) where clip_norm is given.
struct CombineNorm {
  std::optional<double> clip_norm;

  bool operator==(const CombineNorm&) const = default;
};

struct SumSquares {
  bool operator==(const SumSquares&) const = default;
};

// A float64 scalar.
graph::ValueId sum_squares(graph::GraphBuilder& b, graph::ValueId x);

struct Norm {
  graph::ValueId norm;
  graph::ValueId clip;  // invalid without clip_norm
};
Norm combine_norm(graph::GraphBuilder& b, std::vector<graph::ValueId> sums, CombineNorm attributes);

const graph::OpDef& sum_squares_op();
const graph::OpDef& combine_norm_op();

}  // namespace lowtide::ops
