// Reverse-mode differentiation: appends to a graph the nodes that compute gradients.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"

namespace lowtide::autodiff {

using graph::ValueId;

// An output to differentiate and the gradient that flows into it. An invalid gradient marks a loss:
// its op's rule takes the incoming gradient to be one.
struct Seed {
  ValueId output;
  ValueId gradient;
};

// Gradients of the sum of seeded outputs with respect to each value of `wrt`, in that order; an id
// is invalid where no output depends on the value. A gradient has the type and layout of its value.
// Where a value has several readers their gradients are added in the reverse order of the readers.
//
// New nodes belong to Phase::kBackward. Nodes that rules place in the forward phase (compact saves)
// are moved to directly after their inputs; node ids change, value ids do not.
// Throws Error(kUnsupported) naming the node where a gradient must pass an op that has none.
std::vector<ValueId> differentiate(graph::GraphBuilder& builder,
                                   std::span<const Seed> seeds,
                                   std::span<const ValueId> wrt);

}  // namespace lowtide::autodiff
