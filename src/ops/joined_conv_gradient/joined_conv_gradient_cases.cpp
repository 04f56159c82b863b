#include <utility>

#include "graph/builder.h"
#include "ops/cases.h"
#include "ops/concat/concat.h"
#include "ops/joined_conv_gradient/joined_conv_gradient.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

constexpr Unary kRelu{.kind = UnaryKind::kRelu};
constexpr Unary kSilu{.kind = UnaryKind::kSilu};

// Of parts of these channels, normalised where they have an activation, and `out` channels.
OpCase gradient_of(std::string name,
                   const core::Shape& image,
                   const std::vector<std::int64_t>& channels,
                   const std::vector<std::optional<Unary>>& parts,
                   std::int64_t out) {
  OpCase result{.name = "joined_conv_gradient/" + std::move(name), .inputs = {}, .build = {}};
  std::int64_t all = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::int64_t count = channels[part];
    const CaseInput channel{.shape = {count}, .differentiable = false};
    result.inputs.push_back({.shape = image.with(1, count), .differentiable = false});
    all += count;
    if (!parts[part]) continue;
    result.inputs.push_back(channel);
    result.inputs.push_back({.shape = {count}, .low = 0.5, .differentiable = false});
    result.inputs.push_back(channel);
    result.inputs.push_back(channel);
  }
  result.inputs.push_back({.shape = {out, all, 3, 3}, .differentiable = false});
  result.build = [parts](GraphBuilder& b, const Values& in) {
    Values inputs = {ValueId()};
    Values sources;
    std::size_t at = 0;
    for (const std::optional<Unary>& part : parts) {
      sources.push_back(to_channels_last(b, in[at++]));
      inputs.push_back(sources.back());
      for (int i = 0; part && i < 4; ++i) inputs.push_back(in[at++]);
    }
    // Of the shape that dy has.
    inputs[0] = conv(b, concat(b, sources, 1), in[at], ValueId(),
                     {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    Conv attributes = b.graph().node(b.graph().value(inputs[0]).producer).attrs.as<Conv>();
    return Values{b.add_one(
        joined_conv_gradient_op(),
        graph::Attrs::of(JoinedConvGradient{.conv = std::move(attributes), .parts = parts}),
        std::move(inputs))};
  };
  return result;
}

}  // namespace

std::vector<OpCase> joined_conv_gradient_cases() {
  return {
      gradient_of("winograd", {2, 1, 16, 16}, {16, 32}, {std::nullopt, kRelu}, 16),
      gradient_of("winograd_odd", {3, 1, 11, 13}, {48, 16, 19}, {kSilu, std::nullopt, kRelu}, 21),
      gradient_of("neither", {1, 1, 5, 6}, {3, 4}, {std::nullopt, kRelu}, 5),
  };
}

}  // namespace lowtide::ops
