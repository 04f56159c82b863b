#include <utility>

#include "ops/cases.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;

OpCase transposed(std::string name,
                  core::Shape x,
                  core::Shape w,
                  Conv attributes,
                  std::vector<std::int64_t> output_padding = {},
                  bool biased = false) {
  OpCase result{.name = "conv_transpose/" + std::move(name),
                .inputs = {{.shape = std::move(x)}, {.shape = w}},
                .build = [=](GraphBuilder& b, const Inputs& in) {
                  const ValueId bias = biased ? in[2] : ValueId();
                  return Inputs{conv_transpose(b, in[0], in[1], bias, attributes, output_padding)};
                }};
  if (biased) result.inputs.push_back({.shape = {w[1] * attributes.groups}});
  return result;
}

}  // namespace

std::vector<OpCase> conv_transpose_cases() {
  const Conv halves{.strides = {2, 2}};
  const Conv thirds{.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}};
  return {
      transposed("doubling", {2, 8, 3, 5}, {8, 4, 2, 2}, halves),
      transposed("doubling_biased", {2, 8, 3, 5}, {8, 4, 2, 2}, halves, {}, true),
      transposed("odd_channels", {2, 17, 4, 3}, {17, 5, 3, 3}, thirds, {1, 1}, true),
      transposed("one_channel", {1, 1, 4, 4}, {1, 1, 3, 3}, {}),
      transposed("over_the_grain", {2, 32, 14, 14}, {32, 24, 3, 3}, thirds, {1, 0}, true),
      transposed("stride_over_kernel", {1, 3, 4, 3}, {3, 2, 2, 2}, {.strides = {3, 4}}),
      transposed("padded_beyond_the_kernel", {1, 3, 4, 3}, {3, 2, 2, 2}, {.strides = {3, 4}},
                 {2, 3}, true),
      transposed("dilated", {1, 4, 5, 4}, {4, 3, 3, 2}, {.dilations = {2, 3}}),
      transposed("output_padding_over_stride", {1, 4, 5, 4}, {4, 3, 3, 2}, {.dilations = {2, 3}},
                 {1, 2}),
      transposed("unequal_padding", {1, 3, 5, 6}, {3, 4, 3, 2},
                 {.strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {0, 1}}),
      transposed("grouped", {2, 8, 4, 3}, {8, 3, 3, 3},
                 {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2}, {},
                 true),
      transposed("depthwise", {2, 16, 4, 3}, {16, 1, 2, 2}, {.strides = {2, 2}, .groups = 16}),
      transposed("signal", {2, 3, 7}, {3, 5, 4}, {.strides = {3}, .pads_begin = {2}}, {}, true),
      transposed("volume", {1, 2, 3, 2, 3}, {2, 3, 2, 2, 3}, {.strides = {2, 1, 2}}, {}, true),
      transposed("winograd", {2, 18, 9, 14}, {18, 23, 3, 3},
                 {.pads_begin = {0, 1}, .pads_end = {2, 1}}, {}, true),
      transposed("one_place", {1, 4, 1, 1}, {4, 2, 1, 1}, {}),
      transposed("no_samples", {0, 3, 4, 4}, {3, 2, 2, 2}, halves, {}, true),
  };
}

}  // namespace lowtide::ops
