#include "ops/batch_norm_activate/batch_norm_activate.h"

#include <utility>

#include "kernels/simd/norm/normalize_activate.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/binary/binary.h"
#include "ops/channels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

constexpr std::int64_t kBitsPerByte = 8;

std::vector<TensorType> infer_activate(const BatchNormActivate&, Types in) {
  check_channels(in, 1, in.size());
  return {in[0]};
}

std::vector<TensorType> infer_reduce(const BatchNormActivateReduce&, Types in) {
  LT_CHECK(in[0] == in[1], "a gradient like the value");
  check_channels(in, 2, in.size());
  return {in[2], in[2]};
}

std::vector<TensorType> infer_input_gradient(const BatchNormActivateInputGradient&, Types in) {
  LT_CHECK(in[0] == in[1], "a gradient like the value");
  check_channels(in, 2, in.size());
  return {in[0]};
}

std::vector<TensorType> infer_add(const BatchNormAddRelu&, Types in) {
  check_channels(in, 1, 5);
  LT_CHECK(in[5] == in[0] && can_add_to_batch_norm(in[0]), "a residual like x, in whole bytes");
  const std::int64_t bytes = in[0].shape.elements() / kBitsPerByte;
  return {in[0], {core::DType::kOpaque, core::Shape{bytes}, core::Layout::kPlain}};
}

std::vector<TensorType> infer_masked_reduce(const BatchNormMaskedReduce&, Types in) {
  check_channels(in, 2, 4);
  for (std::size_t i = 4; i < in.size(); ++i) LT_CHECK(in[i] == in[0], "a gradient like the value");
  return {in[2], in[2], in[0]};
}

InputGradients gradient_of_activate(const BatchNormActivate& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId dy = g.out_gradient(0);
  const std::vector<ValueId> sums =
      b.add(batch_norm_activate_reduce_op(),
            Attrs::of(BatchNormActivateReduce{.activation = a.activation}),
            {g.in(0), dy, g.in(1), g.in(2), g.in(3), g.in(4)});
  ValueId dx;
  if (g.needs(0)) {
    dx = b.add_one(batch_norm_activate_input_gradient_op(),
                   Attrs::of(BatchNormActivateInputGradient{.activation = a.activation}),
                   {g.in(0), dy, g.in(1), g.in(2), g.in(3), g.in(4), sums[0], sums[1]});
  }
  return {dx, ValueId(), ValueId(), sums[0], sums[1]};
}

// A gradient that is a sum of two is added up in the same pass.
std::vector<ValueId> parts_of(const Graph& graph, ValueId dy) {
  const NodeId producer = graph.value(dy).producer;
  if (!producer.valid()) return {dy};
  const Node& node = graph.node(producer);
  const bool is_sum = node.phase == Phase::kBackward && node.op == &binary_op(BinaryKind::kAdd) &&
                      graph.type(node.inputs[0]) == graph.type(dy) &&
                      graph.type(node.inputs[1]) == graph.type(dy);
  return is_sum ? node.inputs : std::vector<ValueId>{dy};
}

InputGradients gradient_of_add(const BatchNormAddRelu&, GradientContext& g) {
  GraphBuilder& b = g.builder();
  std::vector<ValueId> inputs = {g.in(0), g.out(1), g.in(1), g.in(2)};
  for (const ValueId part : parts_of(b.graph(), g.out_gradient(0))) inputs.push_back(part);
  const std::vector<ValueId> sums =
      b.add(batch_norm_masked_reduce_op(), Attrs::of(BatchNormMaskedReduce{}), std::move(inputs));
  ValueId dx;
  if (g.needs(0)) {
    dx = b.add_one(batch_norm_input_gradient_op(), Attrs::of(BatchNormInputGradient{}),
                   {g.in(0), sums[2], g.in(1), g.in(2), g.in(3), sums[0], sums[1]});
  }
  return {dx, ValueId(), ValueId(), sums[0], sums[1], sums[2]};
}

// `flops` for each element, `passes` times x's bytes moved.
template <int kFlops, int kPasses, class A>
Cost cost_of(const A&, const Signature& types) {
  return {.flops = kFlops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = kPasses * types.in[0].bytes()};
}

Cost cost_of_masked_reduce(const BatchNormMaskedReduce&, const Signature& types) {
  const auto parts = static_cast<std::int64_t>(types.in.size()) - 4;
  return {.flops = 5 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = (2 + parts) * types.in[0].bytes()};
}

std::vector<Alias> share_parts(const BatchNormMaskedReduce&, const Signature& types) {
  std::vector<Alias> result;
  for (std::size_t i = 4; i < types.in.size(); ++i) {
    result.push_back({.output = 2, .input = static_cast<int>(i)});
  }
  return result;
}

}  // namespace

const OpDef& batch_norm_activate_op() {
  static const TypedOp<BatchNormActivate> op{{
      .name = "BatchNormActivate",
      .infer = infer_activate,
      .gradient = gradient_of_activate,
      .cost = cost_of<6, 2, BatchNormActivate>,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .slots = {{.input = 3}, {.input = 4}},
      .kernels = batch_norm_activate_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_activate_reduce_op() {
  static const TypedOp<BatchNormActivateReduce> op{{
      .name = "BatchNormActivateReduce",
      .infer = infer_reduce,
      .gradient = not_differentiable,
      .cost = cost_of<8, 2, BatchNormActivateReduce>,
      .repeat = Repeat::kExact,
      .kernels = batch_norm_activate_reduce_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_activate_input_gradient_op() {
  static const TypedOp<BatchNormActivateInputGradient> op{{
      .name = "BatchNormActivateInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of<9, 3, BatchNormActivateInputGradient>,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}, {.output = 0, .input = 0}},
      .kernels = batch_norm_activate_input_gradient_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_add_relu_op() {
  static const TypedOp<BatchNormAddRelu> op{{
      .name = "BatchNormAddRelu",
      .infer = infer_add,
      .gradient = gradient_of_add,
      .cost = cost_of<5, 3, BatchNormAddRelu>,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 5}, {.output = 0, .input = 0}},
      .slots = {{.input = 3}, {.input = 4}},
      .kernels = batch_norm_add_relu_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_masked_reduce_op() {
  static const TypedOp<BatchNormMaskedReduce> op{{
      .name = "BatchNormMaskedReduce",
      .infer = infer_masked_reduce,
      .gradient = not_differentiable,
      .cost = cost_of_masked_reduce,
      .repeat = Repeat::kExact,
      .alias_rule = share_parts,
      .kernels = batch_norm_masked_reduce_kernels(),
  }};
  return op;
}

bool can_follow_batch_norm(UnaryKind kind) { return kernels::can_follow_affine(kind); }

bool can_add_to_batch_norm(const core::TensorType& x) {
  const bool rows = x.shape.rank() == 2 || x.layout == core::Layout::kChannelsLast;
  return rows && x.shape[1] % kBitsPerByte == 0;
}

ValueId batch_norm_activate(GraphBuilder& b, const NormInputs& in, const Unary& f) {
  LT_CHECK(can_follow_batch_norm(f.kind), "an activation that may follow a normalisation");
  return b.add_one(batch_norm_activate_op(), Attrs::of(BatchNormActivate{.activation = f}),
                   {in.x, in.mean, in.inverse_deviation, in.scale, in.bias});
}

ValueId batch_norm_add_relu(GraphBuilder& b, const NormInputs& in, ValueId residual) {
  return b.add(batch_norm_add_relu_op(), Attrs::of(BatchNormAddRelu{}),
               {in.x, in.mean, in.inverse_deviation, in.scale, in.bias, residual})[0];
}

}  // namespace lowtide::ops
