#include "ops/pool/pool.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "kernels/simd/pool.h"
#include "ops/cast/cast.h"
#include "ops/layout/layout.h"
#include "ops/pool/lp_pool.h"
#include "ops/pool/pool_kernels.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;
using core::Layout;
using core::Shape;

std::vector<TensorType> infer(const Pool& a, Types in) {
  const TensorType& x = in[0];
  if (!core::is_float(x.dtype) || x.layout != Layout::kChannelsLast) {
    throw fail(ErrorCode::kInvalidArgument, "cannot pool {}", x.str());
  }
  const Rounding rounding = a.ceil ? Rounding::kUp : Rounding::kDown;
  std::vector<std::int64_t> dims = window_counts(window_of(a), x.shape, rounding);
  const auto negative = [](std::int64_t pad) { return pad < 0; };
  if (std::any_of(a.pads_begin.begin(), a.pads_begin.end(), negative) ||
      std::any_of(a.pads_end.begin(), a.pads_end.end(), negative)) {
    throw fail(ErrorCode::kInvalidArgument, "pooling pads {} and {} must not be negative",
               a.pads_begin, a.pads_end);
  }
  dims.insert(dims.begin(), {x.shape[0], x.shape[1]});
  return {{x.dtype, Shape(std::move(dims)), Layout::kChannelsLast}};
}

// The smallest type that numbers the taps of the window.
std::vector<TensorType> infer_index(const Pool& a, Types in) {
  TensorType type = infer(a, in).front();
  const std::int64_t taps = Shape(a.kernel).elements();
  type.dtype = taps <= 1 << 8 ? DType::kUint8 : taps <= 1 << 16 ? DType::kUint16 : DType::kUint32;
  return {std::move(type)};
}

TensorType input_type(const PoolGradient& a, const TensorType& dy) {
  std::vector<std::int64_t> dims = a.spatial;
  dims.insert(dims.begin(), {dy.shape[0], dy.shape[1]});
  return {dy.dtype, Shape(std::move(dims)), Layout::kChannelsLast};
}

std::vector<TensorType> infer_max_gradient(const PoolGradient& a, Types in) {
  return {input_type(a, in[1])};
}

std::vector<TensorType> infer_average_gradient(const PoolGradient& a, Types in) {
  return {input_type(a, in[0])};
}

std::vector<TensorType> infer_places(const PoolPlaces& a, Types in) {
  TensorType type = infer(a.pool, in).front();
  type.dtype = DType::kInt64;
  return {std::move(type)};
}

PoolGradient gradient_attributes(const Pool& a, const Shape& x) {
  return {.pool = a, .spatial = {x.dims().begin() + 2, x.dims().end()}};
}

// Backward needs where the maxima were, not x: one byte for each output in place of x.
InputGradients gradient_of_max(const Pool& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId x = g.in(0);
  const ValueId dy = to_channels_last(b, g.out_gradient(0));
  const ValueId index = g.in_forward([&](GraphBuilder& forward) {
    return forward.add_one(max_pool_index_op(), Attrs::of(a), {x});
  });
  return {b.add_one(max_pool_gradient_op(), Attrs::of(gradient_attributes(a, g.type(x).shape)),
                    {index, dy})};
}

InputGradients gradient_of_average(const Pool& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  return {b.add_one(average_pool_gradient_op(),
                    Attrs::of(gradient_attributes(a, g.type(g.in(0)).shape)),
                    {to_channels_last(b, g.out_gradient(0))})};
}

// One operation for each tap of each window.
Cost cost_of(const Pool& a, const Shape& windows, const Signature& types) {
  Bytes traffic = types.out[0].bytes();
  for (const TensorType& type : types.in) traffic += type.bytes();
  return {.flops = static_cast<double>(windows.elements()) *
                   static_cast<double>(Shape(a.kernel).elements()),
          .traffic = traffic};
}

Cost cost(const Pool& a, const Signature& types) { return cost_of(a, types.out[0].shape, types); }

Cost cost_of_places(const PoolPlaces& a, const Signature& types) { return cost(a.pool, types); }

Cost cost_of_gradient(const PoolGradient& a, const Signature& types) {
  return cost_of(a.pool, types.in[0].shape, types);
}

bool float_forward(const Pool&, const Signature& types) {
  return types.in[0].dtype == DType::kFloat32;
}

bool float_gradient(const PoolGradient&, const Signature& types) {
  return types.out[0].dtype == DType::kFloat32;
}

kernels::PoolShape pool_shape(const Pool& a, const TensorType& x, const TensorType& y) {
  return {.samples = x.shape[0],
          .channels = x.shape[1],
          .axes = window_axes(window_of(a), x.shape, y.shape)};
}

kernels::Divisor divisor(const Pool& a) {
  return a.count_padding ? kernels::Divisor::kPadded : kernels::Divisor::kInput;
}

// Calls f with the tag of an index type.
template <class F>
void visit_index(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kUint8: return f(core::TypeTag<std::uint8_t>{});
    case DType::kUint16: return f(core::TypeTag<std::uint16_t>{});
    default: return f(core::TypeTag<std::uint32_t>{});
  }
}

void run_max(const Pool& a, const Signature& types, const Run& run) {
  kernels::max_pool(pool_shape(a, types.in[0], types.out[0]), run.input<float>(0),
                    run.output<float>(0));
}

void run_index(const Pool& a, const Signature& types, const Run& run) {
  visit_index(types.out[0].dtype, [&](auto tag) {
    using Index = typename decltype(tag)::type;
    kernels::max_pool_index(pool_shape(a, types.in[0], types.out[0]), run.input<float>(0),
                            run.output<Index>(0));
  });
}

void run_max_gradient(const PoolGradient& a, const Signature& types, const Run& run) {
  visit_index(types.in[0].dtype, [&](auto tag) {
    using Index = typename decltype(tag)::type;
    kernels::max_pool_gradient(pool_shape(a.pool, types.out[0], types.in[1]), run.input<Index>(0),
                               run.input<float>(1), run.output<float>(0));
  });
}

void run_average(const Pool& a, const Signature& types, const Run& run) {
  kernels::average_pool(pool_shape(a, types.in[0], types.out[0]), divisor(a), run.input<float>(0),
                        run.output<float>(0));
}

void run_average_gradient(const PoolGradient& a, const Signature& types, const Run& run) {
  kernels::average_pool_gradient(pool_shape(a.pool, types.out[0], types.in[0]), divisor(a.pool),
                                 run.input<float>(0), run.output<float>(0));
}

// MaxPool and AveragePool. Dilations came to the one in opset 10 and to the other in 19.
std::vector<ValueId> read_pool(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  Pool a{.kernel = node.integers("kernel_shape"),
         .ceil = node.integer("ceil_mode", 0) != 0,
         .count_padding = node.integer("count_include_pad", 0) != 0};
  if (a.kernel.empty()) throw fail(ErrorCode::kInvalidFile, "kernel_shape is missing");
  const TensorType type = b.type(x);
  a = read_window(node, std::move(a), type.shape);
  if (node.type() != "MaxPool") return {average_pool(b, x, std::move(a))};
  // Bytes come through floats unchanged.
  const bool bytes = type.dtype == core::DType::kInt8 || type.dtype == core::DType::kUint8;
  const ValueId floats = bytes ? cast(b, x, core::DType::kFloat32) : x;
  std::vector<ValueId> results = {cast(b, max_pool(b, floats, a), type.dtype)};
  if (node.output_used(1)) {
    const bool column_major = node.integer("storage_order", 0) == 1;
    results.push_back(max_pool_places(b, floats, std::move(a), column_major));
  }
  return results;
}

std::vector<ValueId> read_global(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  return {node.type() == "GlobalMaxPool" ? global_max_pool(b, x) : global_average_pool(b, x)};
}

bool covers_all(const Pool& a, const Shape& x) {
  const auto zero = [](std::int64_t pad) { return pad == 0; };
  return std::equal(a.kernel.begin(), a.kernel.end(), x.dims().begin() + 2, x.dims().end()) &&
         std::all_of(a.pads_begin.begin(), a.pads_begin.end(), zero) &&
         std::all_of(a.pads_end.begin(), a.pads_end.end(), zero);
}

bool dilated(const Pool& a) {
  return std::any_of(a.dilations.begin(), a.dilations.end(), [](auto d) { return d != 1; });
}

std::optional<OnnxForm> write_max(const Pool& a, const Signature& types) {
  if (covers_all(a, types.in[0].shape) && !dilated(a)) return OnnxForm{.type = "GlobalMaxPool"};
  OnnxForm form{.type = "MaxPool", .attributes = window_attributes(window_of(a))};
  form.attributes.emplace_back("ceil_mode", std::int64_t{a.ceil ? 1 : 0});
  return form;
}

std::optional<OnnxForm> write_average(const Pool& a, const Signature& types) {
  if (covers_all(a, types.in[0].shape) && !dilated(a)) {
    return OnnxForm{.type = "GlobalAveragePool"};
  }
  OnnxForm form{.type = "AveragePool", .attributes = window_attributes(window_of(a))};
  form.attributes.emplace_back("ceil_mode", std::int64_t{a.ceil ? 1 : 0});
  form.attributes.emplace_back("count_include_pad", std::int64_t{a.count_padding ? 1 : 0});
  return form;
}

Pool whole(const TensorType& x) {
  const std::vector<std::int64_t>& dims = x.shape.dims();
  return {.kernel = {dims.begin() + (dims.size() < 2 ? 0 : 2), dims.end()}};
}

ValueId pool(GraphBuilder& b, const OpDef& op, ValueId x, Pool attributes) {
  return b.add_one(op, Attrs::of(with_window_defaults(std::move(attributes))),
                   {to_channels_last(b, x)});
}

}  // namespace

const OpDef& max_pool_op() {
  static const TypedOp<Pool> op{{
      .name = "MaxPool",
      .infer = infer,
      .gradient = gradient_of_max,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "MaxPool", .read = read_pool},
               {.type = "GlobalMaxPool", .read = read_global}},
      .onnx_form = write_max,
      .kernels = {{.name = "simd", .supports = float_forward, .run = run_max},
                  {.name = "reference", .run = run_max_pool_reference}},
  }};
  return op;
}

const OpDef& max_pool_index_op() {
  static const TypedOp<Pool> op{{
      .name = "MaxPoolIndex",
      .infer = infer_index,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd", .supports = float_forward, .run = run_index},
                  {.name = "reference", .run = run_max_pool_index_reference}},
  }};
  return op;
}

const OpDef& max_pool_gradient_op() {
  static const TypedOp<PoolGradient> op{{
      .name = "MaxPoolGradient",
      .infer = infer_max_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd", .supports = float_gradient, .run = run_max_gradient},
                  {.name = "reference", .run = run_max_pool_gradient_reference}},
  }};
  return op;
}

const OpDef& max_pool_places_op() {
  static const TypedOp<PoolPlaces> op{{
      .name = "MaxPoolPlaces",
      .infer = infer_places,
      .gradient = not_differentiable,
      .cost = cost_of_places,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "planes", .run = run_max_pool_places}},
  }};
  return op;
}

const OpDef& average_pool_op() {
  static const TypedOp<Pool> op{{
      .name = "AveragePool",
      .infer = infer,
      .gradient = gradient_of_average,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "AveragePool", .read = read_pool},
               {.type = "LpPool", .read = read_lp_pool},
               {.type = "GlobalAveragePool", .read = read_global}},
      .onnx_form = write_average,
      .kernels = {{.name = "simd", .supports = float_forward, .run = run_average},
                  {.name = "reference", .run = run_average_pool_reference}},
  }};
  return op;
}

const OpDef& average_pool_gradient_op() {
  static const TypedOp<PoolGradient> op{{
      .name = "AveragePoolGradient",
      .infer = infer_average_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd", .supports = float_gradient, .run = run_average_gradient},
                  {.name = "reference", .run = run_average_pool_gradient_reference}},
  }};
  return op;
}

ValueId max_pool(GraphBuilder& b, ValueId x, Pool attributes) {
  attributes.count_padding = false;
  return pool(b, max_pool_op(), x, std::move(attributes));
}

ValueId average_pool(GraphBuilder& b, ValueId x, Pool attributes) {
  return pool(b, average_pool_op(), x, std::move(attributes));
}

ValueId max_pool_places(GraphBuilder& b, ValueId x, Pool attributes, bool column_major) {
  attributes.count_padding = false;
  return b.add_one(max_pool_places_op(),
                   Attrs::of(PoolPlaces{.pool = with_window_defaults(std::move(attributes)),
                                        .column_major = column_major}),
                   {to_channels_last(b, x)});
}

ValueId global_max_pool(GraphBuilder& b, ValueId x) { return max_pool(b, x, whole(b.type(x))); }

ValueId global_average_pool(GraphBuilder& b, ValueId x) {
  return average_pool(b, x, whole(b.type(x)));
}

bool windows_meet_input(const Pool& a, const Shape& x) {
  const Window window = window_of(a);
  const std::vector<std::int64_t> counts =
      window_counts(window, x, a.ceil ? Rounding::kUp : Rounding::kDown);
  std::vector<std::int64_t> dims = counts;
  dims.insert(dims.begin(), {x[0], x[1]});
  const WindowAxes axes = window_axes(window, x, Shape(std::move(dims)));
  for (const WindowAxis& axis : axes) {
    for (std::int64_t i = 0; i < axis.out; ++i) {
      if (axis.end_tap(i) <= axis.first_tap(i)) return false;
    }
  }
  return true;
}

}  // namespace lowtide::ops
