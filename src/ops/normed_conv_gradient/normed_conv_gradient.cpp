#include "ops/normed_conv_gradient/normed_conv_gradient.h"

#include <utility>

#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/normed_conv_gradient/normed_conv_gradient_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

std::vector<TensorType> infer(const NormedConvGradient& a, Types in) {
  LT_CHECK(in.size() == (a.residual ? 7U : 6U), "x, dy, four numbers a channel [, a residual]");
  const TensorType channel{in[0].dtype, {in[0].shape[1]}};
  for (std::size_t i = 2; i < 6; ++i) LT_CHECK(in[i] == channel, "one number for each channel");
  if (a.residual) LT_CHECK(in[6] == in[0], "a residual like x");
  return conv_weight_gradient_op().infer(Attrs::of(a.conv), in.first(2));
}

// That of the gradient, and of making y where it is packed: once, or by Winograd's filtering, whose
// tiles overlap, more than twice.
Cost cost(const NormedConvGradient& a, const Signature& types) {
  constexpr double kFlops = 12;
  Cost cost = conv_weight_gradient_op().cost(Attrs::of(a.conv), {types.in.first(2), types.out});
  cost.flops += kFlops * static_cast<double>(types.in[0].shape.elements());
  if (a.residual) cost.traffic += types.in[6].bytes();
  return cost;
}

}  // namespace

const OpDef& normed_conv_gradient_op() {
  static const TypedOp<NormedConvGradient> op{{
      .name = "NormedConvGradient",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = normed_conv_gradient_kernels(),
  }};
  return op;
}

std::optional<Node> normed_conv_gradient(const Graph& graph, const Node& weight_gradient) {
  if (weight_gradient.op != &conv_weight_gradient_op()) return std::nullopt;
  const ValueId y = weight_gradient.inputs[0];
  const NodeId producer = graph.value(y).producer;
  if (!producer.valid()) return std::nullopt;
  const Node& norm = graph.node(producer);
  NormedConvGradient a{.conv = weight_gradient.attrs.as<Conv>(), .activation = {}};
  if (norm.op == &batch_norm_add_relu_op()) {
    a.residual = true;
  } else if (norm.op == &batch_norm_activate_op()) {
    a.activation = norm.attrs.as<BatchNormActivate>().activation;
  } else {
    return std::nullopt;
  }
  const std::vector<TensorType> in = graph.types(weight_gradient.inputs);
  const std::vector<TensorType> out = graph.types(weight_gradient.outputs);
  if (!suits_normed_conv_gradient(a.conv, {in, out})) return std::nullopt;
  std::vector<ValueId> inputs = {norm.inputs[0], weight_gradient.inputs[1]};
  inputs.insert(inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
  return Node{.name = weight_gradient.name + " (of norm)",
              .op = &normed_conv_gradient_op(),
              .attrs = Attrs::of(std::move(a)),
              .inputs = std::move(inputs),
              .outputs = weight_gradient.outputs,
              .phase = weight_gradient.phase};
}

}  // namespace lowtide::ops
