#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/binary/binary.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

NormInputs with_statistics(GraphBuilder& b, ValueId x, ValueId scale, ValueId bias) {
  const Values statistics =
      b.add(batch_statistics_op(), graph::Attrs::of(BatchStatistics{.epsilon = 1e-3}), {x});
  return {.x = x,
          .mean = statistics[0],
          .inverse_deviation = statistics[1],
          .scale = scale,
          .bias = bias};
}

ValueId spatial(GraphBuilder& b, ValueId x) {
  return b.type(x).shape.rank() >= 3 ? to_channels_last(b, x) : x;
}

OpCase activated(std::string name, const core::Shape& shape, Unary f, bool plain = false) {
  const std::int64_t channels = shape[1];
  return {.name = "batch_norm_activate/" + std::move(name),
          .inputs = {{.shape = shape}, {.shape = {channels}}, {.shape = {channels}}},
          .build =
              [f, plain](GraphBuilder& b, const Values& in) {
                const ValueId x = plain ? in[0] : spatial(b, in[0]);
                return Values{batch_norm_activate(b, with_statistics(b, x, in[1], in[2]), f)};
              },
          .gradient_tolerance = 1e-5};
}

// The gradient of the sum comes in one part, or, where y is used twice, in two.
OpCase added(std::string name, const core::Shape& shape, bool twice = false) {
  const std::int64_t channels = shape[1];
  return {
      .name = "batch_norm_activate/add_" + std::move(name),
      .inputs = {{.shape = shape}, {.shape = {channels}}, {.shape = {channels}}, {.shape = shape}},
      .build =
          [twice](GraphBuilder& b, const Values& in) {
            const ValueId x = spatial(b, in[0]);
            const ValueId y =
                batch_norm_add_relu(b, with_statistics(b, x, in[1], in[2]), spatial(b, in[3]));
            return twice ? Values{mul(b, y, y), neg(b, y)} : Values{y};
          },
      .gradient_tolerance = 1e-5};
}

constexpr Unary kRelu{.kind = UnaryKind::kRelu};
constexpr Unary kSilu{.kind = UnaryKind::kSilu};
constexpr Unary kHardSwish{.kind = UnaryKind::kHardSwish};
constexpr Unary kRelu6{.kind = UnaryKind::kClip, .alpha = 0, .beta = 0.75};

}  // namespace

std::vector<OpCase> batch_norm_activate_cases() {
  return {
      activated("rows", {7, 5}, kRelu),
      activated("images", {2, 3, 4, 5}, kRelu),
      activated("signals", {3, 17, 7}, kSilu),
      activated("volumes", {2, 16, 2, 3, 2}, kHardSwish),
      activated("clipped", {3, 9, 4, 3}, kRelu6),
      activated("one_channel", {2, 1, 3, 3}, kSilu),
      activated("empty", {0, 3, 2, 2}, kRelu),
      activated("many_channels", {3, 2048, 2, 1}, kRelu),
      activated("large", {5, 24, 37, 31}, kSilu),
      activated("plain_images", {2, 3, 4, 5}, kRelu, true),
      added("rows", {7, 8}),
      added("images", {2, 16, 4, 5}),
      added("odd_bytes", {3, 24, 3, 3}),
      added("empty", {0, 8, 2, 2}),
      added("many_channels", {3, 1032, 2, 1}),
      added("large", {2, 32, 17, 16}),
      added("used_twice", {2, 40, 5, 3}, true),
  };
}

}  // namespace lowtide::ops
