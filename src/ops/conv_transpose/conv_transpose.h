// ConvTranspose: the gradient of a convolution with respect to its input, which is also a layer of
// its own, from few positions to many.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"
#include "ops/conv/conv.h"

namespace lowtide::ops {

// `conv` leads from the result back to the input; its bias, however, is added to the result. The
// spatial sizes of the result are given because strides hide them.
struct ConvTranspose {
  Conv conv;
  std::vector<std::int64_t> spatial;

  bool operator==(const ConvTranspose&) const = default;
};

// x is (N, C, spatial...), of any layout, w (C, O / groups, kernel...), bias (O) or an invalid id.
// The result, (N, O, spatial...), is channels-last and has (size - 1) stride + (kernel - 1)
// dilation
// + 1 positions along an axis, less the padding of `attributes`, plus `output_padding` at the end.
graph::ValueId conv_transpose(graph::GraphBuilder& b,
                              graph::ValueId x,
                              graph::ValueId w,
                              graph::ValueId bias,
                              Conv attributes,
                              std::vector<std::int64_t> output_padding = {});

// The same to given spatial sizes; all lists of `attributes` are filled in but for pads_end, which
// follows from them.
graph::ValueId conv_transpose_to(graph::GraphBuilder& b,
                                 graph::ValueId x,
                                 graph::ValueId w,
                                 graph::ValueId bias,
                                 Conv attributes,
                                 std::vector<std::int64_t> spatial);

const graph::OpDef& conv_transpose_op();

}  // namespace lowtide::ops
