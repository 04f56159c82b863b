// A transposed convolution whose result goes into several tensors, channels after channels: the
// gradient of what a concatenation joined, without the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace lowtide::ops {

struct SplitConvTranspose {
  ConvTranspose whole;                // without a bias
  std::vector<std::int64_t> lengths;  // channels of each result

  bool operator==(const SplitConvTranspose&) const = default;
};

// x, w -> the parts: to the bits of Split(ConvTranspose(x, w)).
const graph::OpDef& split_conv_transpose_op();

// The node that does what a ConvTranspose node and the Split of its result do; nothing where these
// are not along the channels, or where the kernel that makes parts does not suit. Not part of the
// graph.
std::optional<graph::Node> split_conv_transpose(const graph::Graph& graph,
                                                const graph::Node& transpose,
                                                const graph::Node& split);

}  // namespace lowtide::ops
