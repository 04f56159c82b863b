// The Vision Transformer.
#include <cmath>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"
#include "zoo/networks/networks.h"
#include "zoo/networks/transformer.h"

namespace lowtide::zoo {
namespace {

using graph::ValueId;

constexpr Init kWeights = truncated_normal(0.02);

// (N, C, H, W) to one token for each patch: (N, patches, width).
ValueId patch_tokens(Network& net, ValueId x, std::int64_t patch, std::int64_t width) {
  const core::Shape kernel{width, net.channels(x), patch, patch};
  const auto fan_in = static_cast<double>(kernel.elements() / width);
  const ValueId w =
      net.parameter("patches.weight", kernel, truncated_normal(std::sqrt(1 / fan_in)));
  const ValueId bias = net.parameter("patches.bias", core::Shape{width}, {});
  graph::GraphBuilder& b = net.at("patches");
  x = ops::transpose(b, ops::conv(b, x, w, bias, {.strides = {patch, patch}}), {0, 2, 3, 1});
  return ops::reshape(b, x, ops::Reshape{.target = {0, -1, width}});
}

// A learned token before the others, for any N: a row of zeros there, and to it the token is added.
ValueId with_class_token(Network& net, ValueId x, const core::Shape& token_shape) {
  const ValueId token = net.parameter("class_token", token_shape, normal(1e-6));
  const std::int64_t patches = net.builder().type(x).shape[1];
  graph::GraphBuilder& b = net.at("class_token");
  x = ops::pad(b, x, {.before = {0, 1, 0}, .after = {0, 0, 0}});
  return ops::add(b, x, ops::pad(b, token, {.before = {0, 0, 0}, .after = {0, patches, 0}}));
}

}  // namespace

graph::Graph build_vit(const ZooSettings& settings) {
  check_heads(settings.width, settings.heads);
  if (settings.size % settings.patch != 0) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "patches of {} pixels do not divide an image of {}", settings.patch,
                     settings.size);
  }
  const std::int64_t side = settings.size / settings.patch;
  const Transformer shape{.width = settings.width,
                          .heads = settings.heads,
                          .sequence = side * side + 1,
                          .epsilon = 1e-6,
                          .weights = kWeights,
                          .residual = kWeights};
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  x = patch_tokens(net, x, settings.patch, settings.width);
  x = with_class_token(net, x, core::Shape{1, 1, settings.width});
  const ValueId places =
      net.parameter("positions", core::Shape{1, shape.sequence, settings.width}, kWeights);
  x = rows(net, ops::add(net.at("positions"), x, places));
  for (std::int64_t i = 0; i < settings.depth; ++i) {
    x = pre_norm_block(net, shape, core::text("block{}", i), x);
  }
  x = net.layer_norm("norm", first_rows(net, shape, x), shape.epsilon);
  return net.finish(net.linear("head", x, settings.classes, kWeights));
}

}  // namespace lowtide::zoo
