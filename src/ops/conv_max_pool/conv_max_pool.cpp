#include "ops/conv_max_pool/conv_max_pool.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "ops/conv_max_pool/conv_max_pool_kernels.h"
#include "ops/layout/layout.h"
#include "ops/unary/unary.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;
using core::Shape;

std::vector<TensorType> infer(const ConvMaxPool& a, Types in) {
  const std::vector<TensorType> between = conv_op().infer(Attrs::of(a.conv), in);
  if (!windows_meet_input(a.pool, between[0].shape)) {
    throw fail(ErrorCode::kInvalidArgument, "a window of the pool over {} meets padding only",
               between[0].str());
  }
  const Attrs pool = Attrs::of(a.pool);
  return {max_pool_op().infer(pool, between)[0], max_pool_index_op().infer(pool, between)[0]};
}

std::vector<TensorType> infer_weight_gradient(const ConvMaxPool& a, Types in) {
  const std::array<TensorType, 2> pair = {in[0], pooled_type(a, in[0], in[2].shape[1])};
  return conv_weight_gradient_op().infer(Attrs::of(a.conv), pair);
}

std::vector<Alias> share_input(const ConvMaxPoolGradient& a, const Signature&) {
  if (!a.rectified) return {};
  return {{.output = 0, .input = 3}};
}

std::vector<TensorType> infer_input_gradient(const ConvMaxPoolGradient& a, Types in) {
  std::vector<std::int64_t> dims = a.spatial;
  dims.insert(dims.begin(), {in[1].shape[0], in[2].shape[1] * a.forward.conv.groups});
  TensorType dx{in[1].dtype, Shape(std::move(dims)), Layout::kChannelsLast};
  LT_CHECK(!a.rectified || in[3] == dx, "a gradient like the value");
  return {std::move(dx)};
}

InputGradients gradient(const ConvMaxPool& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId index = g.out(1);
  const ValueId dy = to_channels_last(b, g.out_gradient(0));
  InputGradients result(g.input_count());
  if (g.needs(1)) {
    result[1] = b.add_one(conv_max_pool_weight_gradient_op(), Attrs::of(a), {g.in(0), index, dy});
  }
  // Each window hands its gradient on to one place.
  if (a.conv.bias && g.needs(2)) result[2] = bias_gradient(b, dy);
  if (g.needs(0)) {
    const std::vector<std::int64_t>& dims = g.type(g.in(0)).shape.dims();
    ConvMaxPoolGradient attributes{.forward = a, .spatial = {dims.begin() + 2, dims.end()}};
    result[0] = b.add_one(conv_max_pool_input_gradient_op(), Attrs::of(std::move(attributes)),
                          {index, dy, g.in(1)});
  }
  return result;
}

// A pass of the convolution, and an operation for each tap of each window of the pool. What lies
// between them is moved too, in scratch.
Cost cost_of(const ConvMaxPool& a,
             const TensorType& w,
             const TensorType& between,
             const TensorType& y,
             const Signature& types) {
  Cost cost = cost_of_windows(w, between, types);
  cost.flops += static_cast<double>(y.shape.elements()) *
                static_cast<double>(Shape(a.pool.kernel).elements());
  cost.traffic += between.bytes();
  return cost;
}

Cost cost(const ConvMaxPool& a, const Signature& types) {
  const TensorType between = pooled_type(a, types.in[0], types.out[0].shape[1]);
  return cost_of(a, types.in[1], between, types.out[0], types);
}

Cost cost_of_weight_gradient(const ConvMaxPool& a, const Signature& types) {
  const TensorType between = pooled_type(a, types.in[0], types.in[2].shape[1]);
  return cost_of(a, types.out[0], between, types.in[2], types);
}

Cost cost_of_input_gradient(const ConvMaxPoolGradient& a, const Signature& types) {
  const TensorType between = pooled_type(a.forward, types.out[0], types.in[1].shape[1]);
  return cost_of(a.forward, types.in[2], between, types.in[1], types);
}

}  // namespace

const OpDef& conv_max_pool_op() {
  static const TypedOp<ConvMaxPool> op{{
      .name = "ConvMaxPool",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 1}, {.input = 2}},
      .kernels = conv_max_pool_kernels(),
  }};
  return op;
}

const OpDef& conv_max_pool_weight_gradient_op() {
  static const TypedOp<ConvMaxPool> op{{
      .name = "ConvMaxPoolWeightGradient",
      .infer = infer_weight_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_weight_gradient,
      .repeat = Repeat::kExact,
      .kernels = conv_max_pool_weight_gradient_kernels(),
  }};
  return op;
}

const OpDef& conv_max_pool_input_gradient_op() {
  static const TypedOp<ConvMaxPoolGradient> op{{
      .name = "ConvMaxPoolInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_input_gradient,
      .repeat = Repeat::kExact,
      .alias_rule = share_input,
      .kernels = conv_max_pool_input_gradient_kernels(),
  }};
  return op;
}

ValueId conv_max_pool(GraphBuilder& b, ValueId x, ValueId w, ValueId bias, ConvMaxPool attributes) {
  const std::vector<std::int64_t>& dims = b.type(w).shape.dims();
  attributes.conv.kernel.assign(dims.begin() + (dims.size() < 2 ? 0 : 2), dims.end());
  attributes.conv = with_window_defaults(std::move(attributes.conv));
  attributes.conv.bias = bias.valid();
  attributes.pool = with_window_defaults(std::move(attributes.pool));
  std::vector<ValueId> inputs = {to_channels_last(b, x), to_plain(b, w)};
  if (bias.valid()) inputs.push_back(bias);
  return b.add(conv_max_pool_op(), Attrs::of(std::move(attributes)), std::move(inputs))[0];
}

std::optional<Node> rectified_input_gradient(const Graph& graph,
                                             const Node& input_gradient,
                                             const Node& relu_gradient) {
  if (input_gradient.op != &conv_max_pool_input_gradient_op() ||
      relu_gradient.op != &unary_gradient_op(UnaryKind::kRelu) ||
      relu_gradient.inputs[1] != input_gradient.outputs[0]) {
    return std::nullopt;
  }
  const ValueId y = relu_gradient.inputs[0];
  const Node& forward = graph.node(graph.value(input_gradient.inputs[0]).producer);
  auto attributes = input_gradient.attrs.as<ConvMaxPoolGradient>();
  if (forward.inputs[0] != y || attributes.rectified) return std::nullopt;
  attributes.rectified = true;
  Node both = input_gradient;
  both.attrs = Attrs::of(std::move(attributes));
  both.inputs.push_back(y);
  both.outputs = relu_gradient.outputs;
  return both;
}

}  // namespace lowtide::ops
