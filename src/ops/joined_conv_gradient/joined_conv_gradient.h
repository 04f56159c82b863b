// The gradient of convolution weights where the convolution's input is several tensors side by
// side: from these, or from what a batch normalisation made them of. Neither the whole nor its
// normalised parts need be kept.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/conv/conv.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

// The channels of parts one after another go into a convolution. A part is x, or f(batch norm of x)
// where it has an activation.
struct JoinedConvGradient {
  Conv conv;
  std::vector<std::optional<Unary>> parts;  // their activations

  bool operator==(const JoinedConvGradient&) const = default;
};

// dy, then of each part x [, mean, inverse deviation, scale, bias] -> dw: to the bits of
// ConvWeightGradient(the whole, dy).
const graph::OpDef& joined_conv_gradient_op();

// The same gradient by this op, for a ConvWeightGradient node; nothing where its input is not
// joined of others along the channels, or where the kernel that takes parts does not suit it. The
// alternative is not part of the graph.
std::optional<graph::Node> joined_conv_gradient(const graph::Graph& graph,
                                                const graph::Node& weight_gradient);

}  // namespace lowtide::ops
