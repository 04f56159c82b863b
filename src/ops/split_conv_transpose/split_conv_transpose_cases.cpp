#include <utility>

#include "graph/builder.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

OpCase split_of(std::string name,
                const core::Shape& x,
                std::vector<std::int64_t> lengths,
                std::int64_t window = 3) {
  std::int64_t all = 0;
  for (const std::int64_t length : lengths) all += length;
  OpCase result{.name = "split_conv_transpose/" + std::move(name),
                .inputs = {{.shape = x, .differentiable = false},
                           {.shape = {x[1], all, window, window}, .differentiable = false}},
                .build = {}};
  const std::int64_t pad = window / 2;
  result.build = [lengths = std::move(lengths), pad](GraphBuilder& b, const Values& in) {
    const ValueId source = to_channels_last(b, in[0]);
    const ValueId whole = conv_transpose(b, source, in[1], ValueId(),
                                         {.pads_begin = {pad, pad}, .pads_end = {pad, pad}});
    auto attributes = b.graph().node(b.graph().value(whole).producer).attrs.as<ConvTranspose>();
    return b.add(
        split_conv_transpose_op(),
        graph::Attrs::of(SplitConvTranspose{.whole = std::move(attributes), .lengths = lengths}),
        {source, in[1]});
  };
  return result;
}

}  // namespace

std::vector<OpCase> split_conv_transpose_cases() {
  return {
      split_of("winograd", {2, 16, 16, 16}, {16, 16}),
      split_of("winograd_odd", {3, 19, 11, 13}, {21, 3, 45}),
      split_of("winograd_wide", {1, 16, 9, 12}, {160, 7}),
      split_of("neither", {2, 3, 5, 6}, {2, 3}, 1),
  };
}

}  // namespace lowtide::ops
