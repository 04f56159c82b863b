#include "ops/batch_norm/batch_norm.h"

#include "core/text.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/binary/binary.h"
#include "ops/layout/layout.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"
#include "ops/update/update.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

void check_x(const TensorType& x) {
  if (!core::is_float(x.dtype) || x.shape.rank() < 2) {
    throw fail(ErrorCode::kInvalidArgument,
               "batch normalisation takes float tensors of rank 2 or more, not {}", x.str());
  }
}

TensorType of_channels(const TensorType& x) { return {x.dtype, {x.shape[1]}}; }

// Inputs `first` and on hold one number for each channel.
void check_channels(Types in, std::size_t first) {
  check_x(in[0]);
  for (std::size_t i = first; i < in.size(); ++i) {
    if (in[i] == of_channels(in[0])) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "input {} of batch normalisation of {} must be {}, not {}", i, in[0].str(),
               of_channels(in[0]).str(), in[i].str());
  }
}

std::vector<TensorType> infer(const BatchNorm&, Types in) {
  check_channels(in, 1);
  return {in[0]};
}

std::vector<TensorType> infer_apply(const BatchNormApply&, Types in) {
  check_channels(in, 1);
  return {in[0]};
}

std::vector<TensorType> infer_statistics(const BatchStatistics&, Types in) {
  check_x(in[0]);
  return std::vector<TensorType>(3, of_channels(in[0]));
}

std::vector<TensorType> infer_deviation(const InverseDeviation&, Types in) { return {in[0]}; }

std::vector<TensorType> infer_reduce(const BatchNormReduce&, Types in) {
  check_channels(in, 2);
  return {in[2], in[2]};
}

std::vector<TensorType> infer_input_gradient(const BatchNormInputGradient& a, Types in) {
  check_channels(in, a.fixed_statistics ? 1 : 2);
  return {in[0]};
}

// The statistics are constants to this rule: a batch norm of given ones, as in fine-tuning.
InputGradients gradient(const BatchNorm& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  InputGradients result(5);
  const ValueId inverse = b.add_one(inverse_deviation_op(),
                                    Attrs::of(InverseDeviation{.epsilon = a.epsilon}), {g.in(4)});
  if (g.needs(0)) {
    result[0] = b.add_one(batch_norm_input_gradient_op(),
                          Attrs::of(BatchNormInputGradient{.fixed_statistics = true}),
                          {g.out_gradient(0), inverse, g.in(1)});
  }
  if (g.needs(1) || g.needs(2)) {
    const std::vector<ValueId> sums = b.add(batch_norm_reduce_op(), Attrs::of(BatchNormReduce{}),
                                            {g.in(0), g.out_gradient(0), g.in(3), inverse});
    result[1] = sums[0];
    result[2] = sums[1];
  }
  return result;
}

InputGradients no_gradient(const BatchStatistics&, GradientContext&) { return {ValueId()}; }

InputGradients gradient_of_apply(const BatchNormApply&, GradientContext& g) {
  GraphBuilder& b = g.builder();
  InputGradients result(5);
  const std::vector<ValueId> sums = b.add(batch_norm_reduce_op(), Attrs::of(BatchNormReduce{}),
                                          {g.in(0), g.out_gradient(0), g.in(1), g.in(2)});
  if (g.needs(0)) {
    result[0] =
        b.add_one(batch_norm_input_gradient_op(), Attrs::of(BatchNormInputGradient{}),
                  {g.in(0), g.out_gradient(0), g.in(1), g.in(2), g.in(3), sums[0], sums[1]});
  }
  result[3] = sums[0];
  result[4] = sums[1];
  return result;
}

// `flops` for each element, `passes` times x's bytes moved.
Cost of_elements(const Signature& types, double flops, std::int64_t passes) {
  return {.flops = flops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = passes * types.in[0].bytes()};
}

Cost cost(const BatchNorm&, const Signature& types) { return of_elements(types, 3, 2); }
Cost cost_of_apply(const BatchNormApply&, const Signature& types) {
  return of_elements(types, 3, 2);
}
Cost cost_of_statistics(const BatchStatistics&, const Signature& types) {
  return of_elements(types, 4, 1);
}
Cost cost_of_deviation(const InverseDeviation&, const Signature& types) {
  return of_elements(types, 3, 2);
}
Cost cost_of_reduce(const BatchNormReduce&, const Signature& types) {
  return of_elements(types, 4, 2);
}
Cost cost_of_input_gradient(const BatchNormInputGradient& a, const Signature& types) {
  return a.fixed_statistics ? of_elements(types, 1, 2) : of_elements(types, 5, 3);
}

std::vector<Alias> share_input_gradient(const BatchNormInputGradient& a, const Signature&) {
  if (a.fixed_statistics) return {{.output = 0, .input = 0}};
  return {{.output = 0, .input = 1}, {.output = 0, .input = 0}};
}

// A file in training mode may name further outputs. Until opset 13 they come in the order mean,
// variance, saved mean, saved variance; from 14 on there are two. The running statistics in the
// graph are the values that training replaces.
ValueId spatial(GraphBuilder& b, ValueId x) {
  return b.type(x).shape.rank() >= 3 ? to_channels_last(b, x) : x;
}

// A node in training mode whose running statistics the graph itself reads: all three outputs come
// from the batch. (Where nothing reads them the node is one of given statistics until it is
// trained.)
std::vector<ValueId> from_batch(OnnxNode& node, const BatchNorm& attributes) {
  GraphBuilder& b = node.builder();
  const ValueId x = spatial(b, node.required_input(0));
  const std::vector<ValueId> statistics =
      b.add(batch_statistics_op(), Attrs::of(BatchStatistics{.epsilon = attributes.epsilon}), {x});
  const ValueId y =
      b.add_one(batch_norm_apply_op(), Attrs::of(BatchNormApply{}),
                {x, statistics[0], statistics[1], node.required_input(1), node.required_input(2)});
  // Gradients pass through a mean, but not through BatchStatistics.
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < b.type(x).shape.rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const ValueId mean = reduce_mean(b, x, axes, KeepDims::kYes);
  const ValueId centred = sub(b, x, mean);
  const ValueId variance = reduce_mean(b, mul(b, centred, centred), axes, KeepDims::kYes);
  const auto moved = [&](std::size_t input, ValueId batch) {
    const ValueId running = node.required_input(input);
    return add(b, scale(b, running, attributes.momentum),
               scale(b, reshape(b, batch, b.type(running).shape), 1 - attributes.momentum));
  };
  return {y, moved(3, mean), moved(4, variance)};
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  if (node.integer("spatial", 1) != 1) {
    throw fail(ErrorCode::kUnsupported, "spatial = {} is not supported",
               node.integer("spatial", 1));
  }
  for (std::size_t i = 3; i < node.output_count(); ++i) {
    if (!node.output_used(i)) continue;
    throw fail(ErrorCode::kUnsupported, "output {} (statistics of the batch) is not supported", i);
  }
  const ValueId mean = node.required_input(3);
  const ValueId variance = node.required_input(4);
  const BatchNorm attributes{.epsilon = double{node.real("epsilon", 1e-5F)},
                             .momentum = double{node.real("momentum", 0.9F)},
                             .training_mode = node.integer("training_mode", 0) != 0};
  if (attributes.training_mode && (node.output_used(1) || node.output_used(2))) {
    return from_batch(node, attributes);
  }
  const ValueId y = batch_norm(node.builder(), node.required_input(0), node.required_input(1),
                               node.required_input(2), mean, variance, attributes);
  return {y, mean, variance};
}

std::optional<OnnxForm> write_onnx(const BatchNorm& a, const Signature&) {
  return OnnxForm{.type = "BatchNormalization",
                  .attributes = {{"epsilon", static_cast<float>(a.epsilon)},
                                 {"momentum", static_cast<float>(a.momentum)}}};
}

}  // namespace

const OpDef& batch_norm_op() {
  static const TypedOp<BatchNorm> op{{
      .name = "BatchNormalization",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .slots = {{.input = 1},
                {.input = 2},
                {.input = 3, .slot = Slot::kStatistic},
                {.input = 4, .slot = Slot::kStatistic}},
      .onnx = {{.type = "BatchNormalization", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = batch_norm_kernels(),
  }};
  return op;
}

const OpDef& batch_statistics_op() {
  static const TypedOp<BatchStatistics> op{{
      .name = "BatchStatistics",
      .infer = infer_statistics,
      .gradient = no_gradient,
      .cost = cost_of_statistics,
      .repeat = Repeat::kExact,
      .kernels = batch_statistics_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_apply_op() {
  static const TypedOp<BatchNormApply> op{{
      .name = "BatchNormApply",
      .infer = infer_apply,
      .gradient = gradient_of_apply,
      .cost = cost_of_apply,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .slots = {{.input = 3}, {.input = 4}},
      .kernels = batch_norm_apply_kernels(),
  }};
  return op;
}

const OpDef& inverse_deviation_op() {
  static const TypedOp<InverseDeviation> op{{
      .name = "InverseDeviation",
      .infer = infer_deviation,
      .gradient = not_differentiable,
      .cost = cost_of_deviation,
      .repeat = Repeat::kExact,
      .kernels = inverse_deviation_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_reduce_op() {
  static const TypedOp<BatchNormReduce> op{{
      .name = "BatchNormReduce",
      .infer = infer_reduce,
      .gradient = not_differentiable,
      .cost = cost_of_reduce,
      .repeat = Repeat::kExact,
      .kernels = batch_norm_reduce_kernels(),
  }};
  return op;
}

const OpDef& batch_norm_input_gradient_op() {
  static const TypedOp<BatchNormInputGradient> op{{
      .name = "BatchNormInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_input_gradient,
      .repeat = Repeat::kExact,
      .alias_rule = share_input_gradient,
      .kernels = batch_norm_input_gradient_kernels(),
  }};
  return op;
}

ValueId batch_norm(GraphBuilder& b,
                   ValueId x,
                   ValueId scale,
                   ValueId bias,
                   ValueId mean,
                   ValueId variance,
                   const BatchNorm& attributes) {
  return b.add_one(batch_norm_op(), Attrs::of(attributes),
                   {spatial(b, x), scale, bias, mean, variance});
}

ValueId batch_norm_train(GraphBuilder& b,
                         ValueId x,
                         ValueId scale,
                         ValueId bias,
                         ValueId running_mean,
                         ValueId running_variance,
                         const BatchNorm& attributes,
                         RunningRule rule) {
  x = spatial(b, x);
  const std::vector<ValueId> statistics =
      b.add(batch_statistics_op(), Attrs::of(BatchStatistics{.epsilon = attributes.epsilon}), {x});
  const ValueId y = b.add_one(batch_norm_apply_op(), Attrs::of(BatchNormApply{}),
                              {x, statistics[0], statistics[1], scale, bias});
  const core::Shape& shape = b.type(x).shape;
  const std::int64_t n = shape[1] == 0 ? 0 : shape.elements() / shape[1];
  const bool unbiased = rule == RunningRule::kPyTorch && n > 1;
  moving_average(b, running_mean, statistics[0], {.keep = attributes.momentum});
  moving_average(b, running_variance, statistics[2],
                 {.keep = attributes.momentum,
                  .factor = unbiased ? static_cast<double>(n) / static_cast<double>(n - 1) : 1.0});
  return y;
}

}  // namespace lowtide::ops
