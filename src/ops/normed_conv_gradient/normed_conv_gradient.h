// The gradient of convolution weights where the convolution's input is what a batch normalisation
// made: from what that was made of. The input need not be kept, and no pass makes it again.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "ops/conv/conv.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

// y = f(batch norm of x), or max(batch norm of x + residual, 0), goes into a convolution.
struct NormedConvGradient {
  Conv conv;
  Unary activation;
  bool residual = false;

  bool operator==(const NormedConvGradient&) const = default;
};

// x, dy, mean, inverse deviation, scale, bias [, residual] -> dw: to the bits of
// ConvWeightGradient(y, dy).
const graph::OpDef& normed_conv_gradient_op();

// The same gradient by this op, for a ConvWeightGradient node; nothing where its input is made in
// another way, or where the kernels that compute while they pack do not suit it. The alternative is
// not part of the graph.
std::optional<graph::Node> normed_conv_gradient(const graph::Graph& graph,
                                                const graph::Node& weight_gradient);

}  // namespace lowtide::ops
