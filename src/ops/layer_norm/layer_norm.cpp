#include "ops/layer_norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "kernels/simd/norm/normalize_rows.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using kernels::RowsShape;

struct LayerNormGradient {
  std::size_t axis = 0;

  bool operator==(const LayerNormGradient&) const = default;
};

core::Shape tail_of(const core::Shape& shape, std::size_t axis) {
  const auto& dims = shape.dims();
  return core::Shape({dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end()});
}

RowsShape rows_of(const core::Shape& shape, std::size_t axis) {
  RowsShape result{.rows = 1, .n = 1};
  for (std::size_t i = 0; i < shape.rank(); ++i) (i < axis ? result.rows : result.n) *= shape[i];
  return result;
}

std::vector<TensorType> infer(const LayerNorm& a, Types in) {
  const TensorType& x = in[0];
  if (!core::is_float(x.dtype) || x.layout != core::Layout::kPlain || a.axis >= x.shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot normalise {} from axis {} on", x.str(), a.axis);
  }
  const TensorType parameter{x.dtype, tail_of(x.shape, a.axis)};
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i] == parameter) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "scale and bias of {} from axis {} on must be {}, not {}", x.str(), a.axis,
               parameter.str(), in[i].str());
  }
  std::vector<std::int64_t> dims = x.shape.dims();
  std::fill(dims.begin() + static_cast<std::ptrdiff_t>(a.axis), dims.end(), 1);
  const TensorType statistic{x.dtype, core::Shape(std::move(dims))};
  return {x, statistic, statistic};
}

std::vector<TensorType> infer_reduce(const LayerNormGradient& a, Types in) {
  return std::vector<TensorType>(2, {in[0].dtype, tail_of(in[0].shape, a.axis)});
}

std::vector<TensorType> infer_input_gradient(const LayerNormGradient&, Types in) { return {in[0]}; }

InputGradients gradient(const LayerNorm& a, GradientContext& g) {
  if (g.out_gradient(1).valid() || g.out_gradient(2).valid()) {
    throw fail(ErrorCode::kUnsupported,
               "no gradient passes through the mean or deviation of a layer normalisation");
  }
  InputGradients result(g.input_count());
  GraphBuilder& b = g.builder();
  const Attrs attrs = Attrs::of(LayerNormGradient{.axis = a.axis});
  if (g.needs(0)) {
    result[0] = b.add_one(layer_norm_input_gradient_op(), attrs,
                          {g.in(0), g.out_gradient(0), g.out(1), g.out(2), g.in(1)});
  }
  if (g.needs(1) || (a.has_bias && g.needs(2))) {
    const std::vector<ValueId> sums =
        b.add(layer_norm_reduce_op(), attrs, {g.in(0), g.out_gradient(0), g.out(1), g.out(2)});
    result[1] = sums[0];
    if (a.has_bias) result[2] = sums[1];
  }
  return result;
}

// `flops` for each element, `passes` times x's bytes moved.
Cost of_elements(const Signature& types, double flops, std::int64_t passes) {
  return {.flops = flops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = passes * types.in[0].bytes()};
}

Cost cost(const LayerNorm&, const Signature& types) { return of_elements(types, 8, 2); }
Cost cost_of_reduce(const LayerNormGradient&, const Signature& types) {
  return of_elements(types, 5, 2);
}
Cost cost_of_input_gradient(const LayerNormGradient&, const Signature& types) {
  return of_elements(types, 10, 3);
}

template <class A>
bool is_float32(const A&, const Signature& types) {
  return types.in[0].dtype == core::DType::kFloat32;
}

// ---- Fast kernels

void run_rows(const LayerNorm& a, const Signature& types, const Run& run) {
  kernels::normalize_rows({.x = run.input<float>(0),
                           .scale = run.input<float>(1),
                           .bias = a.has_bias ? run.input<float>(2) : nullptr,
                           .epsilon = a.epsilon,
                           .y = run.output<float>(0),
                           .mean = run.output<float>(1),
                           .inverse = run.output<float>(2)},
                          rows_of(types.in[0].shape, a.axis));
}

kernels::RowNormGradient inputs_of(const Run& run) {
  return {.x = run.input<float>(0),
          .dy = run.input<float>(1),
          .mean = run.input<float>(2),
          .inverse = run.input<float>(3)};
}

void run_input_gradient(const LayerNormGradient& a, const Signature& types, const Run& run) {
  kernels::normalize_rows_gradient(inputs_of(run), run.input<float>(4), run.output<float>(0),
                                   rows_of(types.in[0].shape, a.axis));
}

Bytes scratch_of_reduce(const LayerNormGradient& a, const Signature& types) {
  return Bytes(kernels::row_sums_scratch(rows_of(types.in[0].shape, a.axis)) *
               static_cast<std::int64_t>(sizeof(double)));
}

void run_reduce(const LayerNormGradient& a, const Signature& types, const Run& run) {
  kernels::normalize_rows_sums(inputs_of(run), run.output<float>(0), run.output<float>(1),
                               rows_of(types.in[0].shape, a.axis),
                               reinterpret_cast<double*>(run.scratch.data()));
}

// ---- Reference kernels

void reference_norm(const LayerNorm& a, const Signature& types, const Run& run) {
  const auto [rows, n] = rows_of(types.in[0].shape, a.axis);
  const double count = static_cast<double>(std::max<std::int64_t>(n, 1));
  core::visit_float(types.in[0].dtype, [&, rows = rows, n = n](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* const x = run.input<T>(0) + row * n;
      T* const y = run.output<T>(0) + row * n;
      double mean = 0;
      for (std::int64_t i = 0; i < n; ++i) mean += double{x[i]} / count;
      double variance = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        variance += (double{x[i]} - mean) * (double{x[i]} - mean) / count;
      }
      const double inverse = 1 / std::sqrt(variance + a.epsilon);
      for (std::int64_t i = 0; i < n; ++i) {
        const double bias = a.has_bias ? double{run.input<T>(2)[i]} : 0;
        y[i] = static_cast<T>((double{x[i]} - mean) * inverse * double{run.input<T>(1)[i]} + bias);
      }
      run.output<T>(1)[row] = static_cast<T>(mean);
      run.output<T>(2)[row] = static_cast<T>(inverse);
    }
  });
}

void reference_input_gradient(const LayerNormGradient& a, const Signature& types, const Run& run) {
  const auto [rows, n] = rows_of(types.in[0].shape, a.axis);
  core::visit_float(types.in[0].dtype, [&, rows = rows, n = n](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double inverse = double{run.input<T>(3)[row]};
      const auto z = [&](std::int64_t i) {
        return (double{run.input<T>(0)[row * n + i]} - double{run.input<T>(2)[row]}) * inverse;
      };
      const auto g = [&](std::int64_t i) {
        return double{run.input<T>(1)[row * n + i]} * double{run.input<T>(4)[i]};
      };
      double mean_g = 0;
      double mean_gz = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        mean_g += g(i) / static_cast<double>(n);
        mean_gz += g(i) * z(i) / static_cast<double>(n);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        run.output<T>(0)[row * n + i] = static_cast<T>(inverse * (g(i) - mean_g - z(i) * mean_gz));
      }
    }
  });
}

void reference_reduce(const LayerNormGradient& a, const Signature& types, const Run& run) {
  const auto [rows, n] = rows_of(types.in[0].shape, a.axis);
  core::visit_float(types.in[0].dtype, [&, rows = rows, n = n](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < n; ++i) {
      double dscale = 0;
      double dbias = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        const double dy = double{run.input<T>(1)[row * n + i]};
        const double moved = double{run.input<T>(0)[row * n + i]} - double{run.input<T>(2)[row]};
        dscale += dy * moved * double{run.input<T>(3)[row]};
        dbias += dy;
      }
      run.output<T>(0)[i] = static_cast<T>(dscale);
      run.output<T>(1)[i] = static_cast<T>(dbias);
    }
  });
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  if (node.integer("stash_type", 1) != 1) {
    throw fail(ErrorCode::kUnsupported, "stash_type = {} is not supported",
               node.integer("stash_type", 1));
  }
  const LayerNormValues values =
      layer_norm(node.builder(), node.required_input(0), node.required_input(1), node.input(2),
                 node.integer("axis", -1), double{node.real("epsilon", 1e-5F)});
  return {values.y, values.mean, values.inverse_deviation};
}

std::optional<OnnxForm> write_onnx(const LayerNorm& a, const Signature&) {
  return OnnxForm{.type = "LayerNormalization",
                  .attributes = {{"axis", static_cast<std::int64_t>(a.axis)},
                                 {"epsilon", static_cast<float>(a.epsilon)}}};
}

}  // namespace

const OpDef& layer_norm_op() {
  static const TypedOp<LayerNorm> op{{
      .name = "LayerNormalization",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .slots = {{.input = 1}, {.input = 2}},
      .onnx = {{.type = "LayerNormalization", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd_rows", .supports = is_float32, .run = run_rows},
                  {.name = "reference", .run = reference_norm}},
  }};
  return op;
}

const OpDef& layer_norm_reduce_op() {
  static const TypedOp<LayerNormGradient> op{{
      .name = "LayerNormReduce",
      .infer = infer_reduce,
      .gradient = not_differentiable,
      .cost = cost_of_reduce,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd_rows",
                   .supports = is_float32,
                   .scratch = scratch_of_reduce,
                   .run = run_reduce},
                  {.name = "reference", .run = reference_reduce}},
  }};
  return op;
}

const OpDef& layer_norm_input_gradient_op() {
  static const TypedOp<LayerNormGradient> op{{
      .name = "LayerNormInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_input_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}, {.output = 0, .input = 0}},
      .kernels = {{.name = "simd_rows", .supports = is_float32, .run = run_input_gradient},
                  {.name = "reference", .run = reference_input_gradient}},
  }};
  return op;
}

LayerNormValues layer_norm(
    GraphBuilder& b, ValueId x, ValueId scale, ValueId bias, std::int64_t axis, double epsilon) {
  const LayerNorm attributes{.axis = core::normalized_axis(axis, b.type(x).shape.rank()),
                             .epsilon = epsilon,
                             .has_bias = bias.valid()};
  std::vector<ValueId> inputs = {to_plain(b, x), to_plain(b, scale)};
  if (bias.valid()) inputs.push_back(to_plain(b, bias));
  const std::vector<ValueId> out = b.add(layer_norm_op(), Attrs::of(attributes), std::move(inputs));
  return {.y = out[0], .mean = out[1], .inverse_deviation = out[2]};
}

}  // namespace lowtide::ops
