#include "ops/conv/lrn.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/layout/layout.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Weights that add up `size` neighbouring channels, each `weight` times.
template <class T>
std::vector<T> band(std::int64_t channels, std::int64_t size, double weight) {
  std::vector<T> weights(static_cast<std::size_t>(channels * channels));
  for (std::int64_t to = 0; to < channels; ++to) {
    const std::int64_t first = std::max<std::int64_t>(to - (size - 1) / 2, 0);
    const std::int64_t last = std::min(to + size / 2, channels - 1);
    for (std::int64_t from = first; from <= last; ++from) {
      weights[static_cast<std::size_t>(to * channels + from)] = static_cast<T>(weight);
    }
  }
  return weights;
}

}  // namespace

ValueId lrn(GraphBuilder& b, ValueId x, const Lrn& a) {
  const core::TensorType type = b.type(x);
  if (!core::is_float(type.dtype) || type.shape.rank() < 3 || a.size < 1 || a.bias <= 0) {
    throw fail(ErrorCode::kInvalidArgument,
               "cannot normalise {} over {} neighbouring channels with bias {}", type.str(), a.size,
               a.bias);
  }
  x = to_channels_last(b, x);
  const std::int64_t channels = type.shape[1];
  std::vector<std::int64_t> dims(type.shape.rank(), 1);
  dims[0] = dims[1] = channels;
  const ValueId sums = core::visit_float(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ValueId weights = b.constant(
        Shape(std::move(dims)), band<T>(channels, a.size, a.alpha / static_cast<double>(a.size)));
    const ValueId bias = b.constant(
        {channels}, std::vector<T>(static_cast<std::size_t>(channels), static_cast<T>(a.bias)));
    return conv(b, mul(b, x, x), weights, bias, {});
  });
  // The sums are above 0, where this is faster than a power.
  return mul(b, x, exp(b, scale(b, log(b, sums), -a.beta)));
}

std::vector<ValueId> read_lrn(graph::OnnxNode& node) {
  return {lrn(node.builder(), node.required_input(0),
              {.size = node.integer("size", 0),
               .alpha = double{node.real("alpha", 1e-4F)},
               .beta = double{node.real("beta", 0.75F)},
               .bias = double{node.real("bias", 1.0F)}})};
}

}  // namespace lowtide::ops
