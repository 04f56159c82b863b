#include "graph/builder.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

constexpr Unary kRelu{.kind = UnaryKind::kRelu};
constexpr Unary kSilu{.kind = UnaryKind::kSilu};
constexpr Unary kHardSwish{.kind = UnaryKind::kHardSwish};
constexpr Unary kRelu6{.kind = UnaryKind::kClip, .alpha = 0, .beta = 0.75};
const Conv kSame{.pads_begin = {1, 1}, .pads_end = {1, 1}};

// The gradient of weights of shape w, and with `residual` that of a sum's.
OpCase gradient_of(std::string name,
                   const core::Shape& x,
                   const core::Shape& w,
                   Conv conv,
                   Unary f,
                   bool residual = false) {
  const CaseInput channel{.shape = {x[1]}, .differentiable = false};
  OpCase result{.name = "normed_conv_gradient/" + std::move(name),
                .inputs = {{.shape = x, .differentiable = false},
                           {.shape = x, .differentiable = false},
                           {.shape = w, .differentiable = false},
                           channel,
                           {.shape = {x[1]}, .low = 0.5, .differentiable = false},
                           channel,
                           channel},
                .build = {}};
  result.build = [conv, f, residual](GraphBuilder& b, const Values& in) {
    const ValueId source = to_channels_last(b, in[0]);
    // Of the shape that dy has.
    const ValueId dy = ops::conv(b, source, in[2], ValueId(), conv);
    Conv attributes = b.graph().node(b.graph().value(dy).producer).attrs.as<Conv>();
    Values inputs = {source, dy, in[3], in[4], in[5], in[6]};
    if (residual) inputs.push_back(to_channels_last(b, in[1]));
    return Values{
        b.add_one(normed_conv_gradient_op(),
                  graph::Attrs::of(NormedConvGradient{
                      .conv = std::move(attributes), .activation = f, .residual = residual}),
                  std::move(inputs))};
  };
  return result;
}

}  // namespace

std::vector<OpCase> normed_conv_gradient_cases() {
  return {
      gradient_of("winograd", {2, 16, 16, 16}, {16, 16, 3, 3}, kSame, kRelu),
      gradient_of("winograd_odd", {3, 19, 11, 13}, {21, 19, 3, 3}, kSame, kSilu),
      gradient_of("winograd_wide_padding", {1, 18, 9, 12}, {40, 18, 3, 3},
                  {.pads_begin = {2, 3}, .pads_end = {4, 0}}, kHardSwish),
      gradient_of("winograd_sum", {2, 40, 13, 10}, {17, 40, 3, 3}, kSame, kRelu, true),
      gradient_of("tiles", {3, 9, 9, 7}, {37, 9, 3, 3}, kSame, kRelu6),
      gradient_of("tiles_strided", {2, 16, 9, 10}, {33, 16, 3, 2},
                  {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}}, kRelu),
      gradient_of("tiles_dilated", {1, 9, 11, 12}, {32, 9, 3, 3},
                  {.dilations = {2, 3}, .pads_begin = {2, 3}, .pads_end = {2, 3}}, kSilu),
      gradient_of("tiles_cut", {2, 11, 8, 9}, {34, 11, 3, 3},
                  {.pads_begin = {-1, 0}, .pads_end = {0, -2}}, kRelu),
      gradient_of("tiles_grouped", {2, 18, 6, 7}, {70, 9, 3, 3},
                  {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2}, kRelu),
      gradient_of("tiles_few_channels", {2, 3, 17, 19}, {32, 3, 7, 7},
                  {.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}}, kRelu),
      gradient_of("tiles_volume", {1, 8, 4, 5, 6}, {32, 8, 2, 3, 2},
                  {.strides = {1, 2, 1}, .pads_begin = {1, 1, 0}, .pads_end = {0, 1, 1}}, kRelu),
      gradient_of("tiles_of_pixels", {3, 130, 7, 9}, {129, 130, 1, 1}, {}, kRelu),
      gradient_of("tiles_of_pixels_sum", {3, 136, 7, 9}, {129, 136, 1, 1}, {}, kRelu, true),
      gradient_of("tiles_sum", {2, 24, 9, 10}, {33, 24, 3, 2},
                  {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}}, kRelu, true),
      gradient_of("neither", {2, 3, 5, 6}, {4, 3, 3, 2}, {.pads_begin = {1, 0}, .pads_end = {0, 2}},
                  kRelu),
  };
}

}  // namespace lowtide::ops
