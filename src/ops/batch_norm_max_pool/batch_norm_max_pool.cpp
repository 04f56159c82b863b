#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"

#include <utility>

#include "core/check.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool_kernels.h"
#include "ops/channels.h"
#include "ops/layout/layout.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

std::vector<TensorType> infer(const BatchNormMaxPool& a, Types in) {
  check_channels(in, 1, in.size());
  LT_CHECK(windows_meet_input(a.pool, in[0].shape), "windows that meet more than padding");
  const Types x = in.first(1);
  const Attrs pool = Attrs::of(a.pool);
  return {max_pool_op().infer(pool, x)[0], max_pool_index_op().infer(pool, x)[0]};
}

std::vector<TensorType> infer_reduce(const BatchNormMaxPoolReduce&, Types in) {
  check_channels(in, 3, in.size());
  return {in[3], in[3]};
}

std::vector<TensorType> infer_input_gradient(const BatchNormMaxPoolInputGradient&, Types in) {
  check_channels(in, 3, in.size());
  return {in[0]};
}

InputGradients gradient(const BatchNormMaxPool& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  std::vector<ValueId> inputs = {g.in(0), g.out(1), to_channels_last(b, g.out_gradient(0)),
                                 g.in(1), g.in(2),  g.in(3),
                                 g.in(4)};
  const std::vector<ValueId> sums =
      b.add(batch_norm_max_pool_reduce_op(), Attrs::of(BatchNormMaxPoolReduce{a}), inputs);
  ValueId dx;
  if (g.needs(0)) {
    inputs.insert(inputs.end(), sums.begin(), sums.end());
    dx = b.add_one(batch_norm_max_pool_input_gradient_op(),
                   Attrs::of(BatchNormMaxPoolInputGradient{a}), std::move(inputs));
  }
  return {dx, ValueId(), ValueId(), sums[0], sums[1]};
}

// `flops` for each element of x and one for each tap of a window; `passes` times x's bytes moved,
// scratch counted.
template <int kFlops, int kPasses>
Cost cost_of(const BatchNormMaxPool& a, const TensorType& y, const Signature& types) {
  const double taps = static_cast<double>(core::Shape(a.pool.kernel).elements());
  return {.flops = kFlops * static_cast<double>(types.in[0].shape.elements()) +
                   taps * static_cast<double>(y.shape.elements()),
          .traffic = kPasses * types.in[0].bytes() + y.bytes()};
}

Cost cost(const BatchNormMaxPool& a, const Signature& types) {
  return cost_of<6, 3>(a, types.out[0], types);
}

Cost cost_of_reduce(const BatchNormMaxPoolReduce& a, const Signature& types) {
  return cost_of<8, 3>(a.forward, types.in[2], types);
}

Cost cost_of_input_gradient(const BatchNormMaxPoolInputGradient& a, const Signature& types) {
  return cost_of<9, 4>(a.forward, types.in[2], types);
}

}  // namespace

const OpDef& batch_norm_max_pool_op() {
  static const TypedOp<BatchNormMaxPool> op{{
      .name = "BatchNormMaxPool",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 3}, {.input = 4}},
      .kernels = batch_norm_max_pool_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_max_pool_reduce_op() {
  static const TypedOp<BatchNormMaxPoolReduce> op{{
      .name = "BatchNormMaxPoolReduce",
      .infer = infer_reduce,
      .gradient = not_differentiable,
      .cost = cost_of_reduce,
      .repeat = Repeat::kExact,
      .kernels = batch_norm_max_pool_reduce_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_max_pool_input_gradient_op() {
  static const TypedOp<BatchNormMaxPoolInputGradient> op{{
      .name = "BatchNormMaxPoolInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_input_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .kernels = batch_norm_max_pool_input_gradient_kernels(),
  }};
  return op;
}

ValueId batch_norm_max_pool(GraphBuilder& b, const NormInputs& in, BatchNormMaxPool attributes) {
  LT_CHECK(can_follow_batch_norm(attributes.activation.kind),
           "an activation that may follow a normalisation");
  attributes.pool = with_window_defaults(std::move(attributes.pool));
  return b.add(batch_norm_max_pool_op(), Attrs::of(std::move(attributes)),
               {in.x, in.mean, in.inverse_deviation, in.scale, in.bias})[0];
}

}  // namespace lowtide::ops
