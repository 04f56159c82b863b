#include "ops/joined_conv_gradient/joined_conv_gradient.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/concat/concat.h"
#include "ops/joined_conv_gradient/joined_conv_gradient_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

std::vector<TensorType> infer(const JoinedConvGradient& a, Types in) {
  const std::vector<std::size_t> first = part_inputs(a);
  LT_CHECK(in.size() == first.back(), "dy, and of each part x [and four numbers a channel]");
  for (std::size_t part = 0; part < a.parts.size(); ++part) {
    const TensorType channel{in[0].dtype, {in[first[part]].shape[1]}};
    for (std::size_t i = first[part] + 1; i < first[part + 1]; ++i) {
      LT_CHECK(in[i] == channel, "one number for each channel");
    }
  }
  const std::array<TensorType, 2> pair = {joined_type(a, in), in[0]};
  return conv_weight_gradient_op().infer(Attrs::of(a.conv), pair);
}

// That of the gradient, and of making the normalised parts where they are transformed: in tiles
// that overlap, more than twice.
Cost cost(const JoinedConvGradient& a, const Signature& types) {
  constexpr double kFlops = 12;
  const std::vector<std::size_t> first = part_inputs(a);
  const std::array<TensorType, 2> pair = {joined_type(a, types.in), types.in[0]};
  Cost cost = conv_weight_gradient_op().cost(Attrs::of(a.conv), {pair, types.out});
  for (std::size_t part = 0; part < a.parts.size(); ++part) {
    if (!a.parts[part]) continue;
    cost.flops += kFlops * static_cast<double>(types.in[first[part]].shape.elements());
  }
  return cost;
}

}  // namespace

const OpDef& joined_conv_gradient_op() {
  static const TypedOp<JoinedConvGradient> op{{
      .name = "JoinedConvGradient",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = joined_conv_gradient_kernels(),
  }};
  return op;
}

std::optional<Node> joined_conv_gradient(const Graph& graph, const Node& weight_gradient) {
  if (weight_gradient.op != &conv_weight_gradient_op()) return std::nullopt;
  const NodeId producer = graph.value(weight_gradient.inputs[0]).producer;
  if (!producer.valid() || graph.node(producer).op != &concat_op()) return std::nullopt;
  const Node& joined = graph.node(producer);
  if (joined.attrs.as<Concat>().axis != 1) return std::nullopt;
  JoinedConvGradient a{.conv = weight_gradient.attrs.as<Conv>(), .parts = {}};
  std::vector<ValueId> inputs = {weight_gradient.inputs[1]};
  for (const ValueId part : joined.inputs) {
    const NodeId maker = graph.value(part).producer;
    if (maker.valid() && graph.node(maker).op == &batch_norm_activate_op()) {
      const Node& norm = graph.node(maker);
      a.parts.emplace_back(norm.attrs.as<BatchNormActivate>().activation);
      inputs.insert(inputs.end(), norm.inputs.begin(), norm.inputs.end());
    } else {
      a.parts.emplace_back(std::nullopt);
      inputs.push_back(part);
    }
  }
  const std::vector<TensorType> in = graph.types(inputs);
  const std::vector<TensorType> out = graph.types(weight_gradient.outputs);
  if (!suits_joined_conv_gradient(a, {in, out})) return std::nullopt;
  return Node{.name = weight_gradient.name + " (of parts)",
              .op = &joined_conv_gradient_op(),
              .attrs = Attrs::of(std::move(a)),
              .inputs = std::move(inputs),
              .outputs = weight_gradient.outputs,
              .phase = weight_gradient.phase,
              .alternative_to = {}};
}

}  // namespace lowtide::ops
