#include "ops/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "kernels/simd/softmax.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/losses.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const Softmax& a, Types in) {
  if (!core::is_float(in[0].dtype) || a.axis >= in[0].shape.rank() ||
      in[0].layout != core::Layout::kPlain) {
    throw fail(ErrorCode::kInvalidArgument, "cannot take softmax of {} along axis {}", in[0].str(),
               a.axis);
  }
  return {in[0]};
}

std::vector<TensorType> infer_gradient(const Softmax&, Types in) { return {in[0]}; }

// dx needs y, not x, so x may be dropped (or overwritten) after the forward pass.
InputGradients gradient(const Softmax& a, GradientContext& g) {
  return {g.builder().add_one(softmax_gradient_op(), Attrs::of(a), {g.out(0), g.out_gradient(0)})};
}

// An exponential counts as about ten operations.
Cost cost(const Softmax&, const Signature& types) {
  const Bytes bytes = types.in[0].bytes();
  return {.flops = 14.0 * static_cast<double>(types.in[0].shape.elements()), .traffic = 2 * bytes};
}

Cost cost_of_gradient(const Softmax& a, const Signature& types) {
  const double flops = a.log ? 14.0 : 4.0;
  return {.flops = flops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = 3 * types.in[0].bytes()};
}

bool float_rows(const Softmax& a, const Signature& types) {
  return types.in[0].dtype == core::DType::kFloat32 &&
         split_at(types.in[0].shape, a.axis).inner == 1;
}

void run_rows(const Softmax& a, const Signature& types, const Run& run) {
  const AxisSplit at = split_at(types.in[0].shape, a.axis);
  kernels::softmax_rows(run.input<float>(0), run.output<float>(0), at.outer, at.length, a.log);
}

void run_rows_gradient(const Softmax& a, const Signature& types, const Run& run) {
  const AxisSplit at = split_at(types.in[0].shape, a.axis);
  kernels::softmax_rows_gradient(run.input<float>(0), run.input<float>(1), run.output<float>(0),
                                 at.outer, at.length, a.log);
}

// Calls f(first element of a line, distance between its elements, length) for each line.
template <class F>
void for_each_line(const core::Shape& shape, std::size_t axis, F&& f) {
  const AxisSplit at = split_at(shape, axis);
  for (std::int64_t outer = 0; outer < at.outer; ++outer) {
    for (std::int64_t inner = 0; inner < at.inner; ++inner) {
      f(outer * at.length * at.inner + inner, at.inner, at.length);
    }
  }
}

void run_reference(const Softmax& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(
        types.in[0].shape, a.axis, [&](std::int64_t first, std::int64_t step, std::int64_t length) {
          const T* const x = run.input<T>(0) + first;
          T* const y = run.output<T>(0) + first;
          T high = -INFINITY;
          for (std::int64_t i = 0; i < length; ++i) high = std::max(high, x[i * step]);
          double sum = 0;
          for (std::int64_t i = 0; i < length; ++i) sum += std::exp(double(x[i * step] - high));
          for (std::int64_t i = 0; i < length; ++i) {
            const double shifted = double(x[i * step] - high);
            y[i * step] = static_cast<T>(a.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
          }
        });
  });
}

void run_reference_gradient(const Softmax& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(
        types.in[0].shape, a.axis, [&](std::int64_t first, std::int64_t step, std::int64_t length) {
          const T* const y = run.input<T>(0) + first;
          const T* const dy = run.input<T>(1) + first;
          T* const dx = run.output<T>(0) + first;
          double sum = 0;
          for (std::int64_t i = 0; i < length; ++i) {
            sum += a.log ? double(dy[i * step]) : double(y[i * step]) * double(dy[i * step]);
          }
          for (std::int64_t i = 0; i < length; ++i) {
            const double v = double(y[i * step]);
            const double g = double(dy[i * step]);
            dx[i * step] = static_cast<T>(a.log ? g - std::exp(v) * sum : v * (g - sum));
          }
        });
  });
}

ValueId along(GraphBuilder& b, ValueId x, std::int64_t axis, bool log) {
  x = to_plain(b, x);
  const std::size_t at = core::normalized_axis(axis, b.type(x).shape.rank());
  return b.add_one(softmax_op(), Attrs::of(Softmax{.axis = at, .log = log}), {x});
}

// Before opset 13 the tensor is flattened to two dimensions at `axis` (default 1) and whole rows
// are normalised; from 13 on one axis (default -1) is.
std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const bool log = node.type() == "LogSoftmax";
  if (node.opset() >= 13) return {along(b, x, node.integer("axis", -1), log)};
  const core::Shape shape = b.type(x).shape;
  const ValueId flat = flattened_at(b, x, node.integer("axis", 1));
  return {reshape(b, along(b, flat, 1, log), shape)};
}

std::optional<OnnxForm> write_onnx(const Softmax& a, const Signature&) {
  return OnnxForm{.type = a.log ? "LogSoftmax" : "Softmax",
                  .attributes = {{"axis", static_cast<std::int64_t>(a.axis)}}};
}

}  // namespace

const OpDef& softmax_op() {
  static const TypedOp<Softmax> op{{
      .name = "Softmax",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .onnx = {{.type = "Softmax", .read = read_onnx},
               {.type = "LogSoftmax", .read = read_onnx},
               {.type = "Hardmax", .read = read_hardmax},
               {.type = "NegativeLogLikelihoodLoss", .read = read_likelihood_loss},
               {.type = "SoftmaxCrossEntropyLoss", .read = read_cross_entropy_loss}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd_rows", .supports = float_rows, .run = run_rows},
                  {.name = "reference", .run = run_reference}},
  }};
  return op;
}

const OpDef& softmax_gradient_op() {
  static const TypedOp<Softmax> op{{
      .name = "SoftmaxGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}, {.output = 0, .input = 0}},
      .kernels = {{.name = "simd_rows", .supports = float_rows, .run = run_rows_gradient},
                  {.name = "reference", .run = run_reference_gradient}},
  }};
  return op;
}

ValueId flattened_at(GraphBuilder& b, ValueId x, std::int64_t axis) {
  const core::Shape shape = b.type(x).shape;
  const std::size_t at = core::normalized_axis(axis, shape.rank());
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < at; ++i) rows *= shape[i];
  return reshape(b, x, core::Shape{rows, rows == 0 ? 0 : shape.elements() / rows});
}

ValueId softmax(GraphBuilder& b, ValueId x, std::int64_t axis) { return along(b, x, axis, false); }

ValueId log_softmax(GraphBuilder& b, ValueId x, std::int64_t axis) {
  return along(b, x, axis, true);
}

}  // namespace lowtide::ops
