#include "ops/cast/quantization.h"

#include <limits>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/conv/conv.h"
#include "ops/expand/expand.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/unary/unary.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

// Each element along `axis` repeated `times`, cut to `length` in all.
ValueId repeated(
    GraphBuilder& b, ValueId x, std::size_t axis, std::int64_t times, std::int64_t length) {
  std::vector<std::int64_t> dims = b.type(x).shape.dims();
  std::vector<std::int64_t> blocks = dims;
  blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  const ValueId apart = reshape(b, x, Shape(blocks));
  blocks[axis + 1] = times;
  dims[axis] *= times;
  const ValueId all = reshape(b, expand(b, apart, Shape(blocks)), Shape(dims));
  return slice(b, all, {.starts = {0}, .ends = {length}, .axes = {static_cast<int>(axis)}});
}

// A scale or zero point, brought to where it broadcasts to a tensor of that shape: one number, one
// for each place along `axis`, or one for each block of places.
ValueId spread(OnnxNode& node, ValueId factor, const Shape& shape) {
  GraphBuilder& b = node.builder();
  const Shape own = b.type(factor).shape;
  if (own.elements() == 1 && own.rank() <= 1) return reshape(b, factor, Shape());
  const std::size_t axis = core::normalized_axis(node.integer("axis", 1), shape.rank());
  const std::int64_t block = node.integer("block_size", 0);
  if (own.rank() == shape.rank() && block > 0) {
    return repeated(b, factor, axis, block, shape[axis]);
  }
  if (own.rank() != 1 || own[0] != shape[axis]) {
    throw fail(ErrorCode::kInvalidFile, "a scale or zero point {} along axis {} of {}", own.str(),
               axis, shape.str());
  }
  std::vector<std::int64_t> dims(shape.rank(), 1);
  dims[axis] = own[0];
  return reshape(b, factor, Shape(dims));
}

// What an integer type can hold; casts cut to it.
ValueId quantized(GraphBuilder& b, ValueId x, ValueId scale, ValueId zero_point, DType to) {
  ValueId q = round(b, div(b, x, scale));
  if (zero_point.valid()) q = add(b, q, cast(b, zero_point, b.type(q).dtype));
  return cast(b, q, to);
}

// An integer operand as float64, without its zero point.
ValueId centred(GraphBuilder& b, ValueId x, ValueId zero_point) {
  x = cast(b, x, DType::kFloat64);
  return zero_point.valid() ? sub(b, x, cast(b, zero_point, DType::kFloat64)) : x;
}

// One number for each row (or output channel) of an operand, in front of `behind` other axes.
ValueId for_rows(GraphBuilder& b, ValueId factor, std::size_t behind = 1) {
  if (!factor.valid() || b.type(factor).shape.rank() != 1) return factor;
  std::vector<std::int64_t> dims(behind + 1, 1);
  dims[0] = b.type(factor).shape[0];
  return reshape(b, factor, Shape(std::move(dims)));
}

// The product's scale over that of the result, in float64.
ValueId requantized(GraphBuilder& b,
                    ValueId product,
                    ValueId a_scale,
                    ValueId c_scale,
                    ValueId y_scale,
                    ValueId y_zero_point) {
  const auto wide = [&](ValueId x) { return cast(b, x, DType::kFloat64); };
  const ValueId factor = div(b, mul(b, wide(a_scale), wide(c_scale)), wide(y_scale));
  const ValueId one = scalar(b, DType::kFloat64, 1);
  return quantized(b, mul(b, product, factor), one, y_zero_point, b.type(y_zero_point).dtype);
}

ValueId integer_conv(
    OnnxNode& node, ValueId x, ValueId w, ValueId x_zero_point, ValueId w_zero_point) {
  GraphBuilder& b = node.builder();
  const std::size_t behind = b.type(w).shape.rank() - 1;
  const ValueId weights = centred(b, w, for_rows(b, w_zero_point, behind));
  Conv windows = read_window(node, read_weights(node, b.type(w).shape), b.type(x).shape);
  return conv(b, centred(b, x, x_zero_point), weights, ValueId(), std::move(windows));
}

DType quantized_type(OnnxNode& node, ValueId zero_point) {
  if (zero_point.valid()) return node.builder().type(zero_point).dtype;
  const std::int64_t code = node.integer("output_dtype", 0);
  return code == 0 ? DType::kUint8 : dtype_of_onnx(code);
}

}  // namespace

std::vector<ValueId> read_quantize(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const Shape shape = b.type(x).shape;
  const ValueId scale = node.required_input(1);
  ValueId zero_point = node.input(2);
  const DType to = quantized_type(node, zero_point);
  if (zero_point.valid()) zero_point = spread(node, zero_point, shape);
  const ValueId real = cast(b, x, b.type(scale).dtype);
  return {quantized(b, real, spread(node, scale, shape), zero_point, to)};
}

std::vector<ValueId> read_dequantize(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const Shape shape = b.type(x).shape;
  const ValueId scale = node.required_input(1);
  const DType real = b.type(scale).dtype;
  ValueId number = cast(b, x, real);
  if (node.input(2).valid()) {
    number = sub(b, number, cast(b, spread(node, node.input(2), shape), real));
  }
  return {mul(b, number, spread(node, scale, shape))};
}

// The range of x, made to hold 0, on the 256 numbers of a byte.
std::vector<ValueId> read_dynamic_quantize(OnnxNode& node) {
  constexpr double kSteps = 255;
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  std::vector<std::size_t> axes(b.type(x).shape.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const ValueId zero = scalar(b, b.type(x).dtype, 0);
  const ValueId low = minimum(b, reduce_min(b, x, axes, KeepDims::kNo), zero);
  const ValueId high = maximum(b, reduce_max(b, x, axes, KeepDims::kNo), zero);
  const ValueId step = ops::scale(b, sub(b, high, low), 1 / kSteps);
  const ValueId zero_point = quantized(b, neg(b, low), step, ValueId(), DType::kUint8);
  return {quantized(b, x, step, zero_point, DType::kUint8), step, zero_point};
}

std::vector<ValueId> read_matmul_integer(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId a = centred(b, node.required_input(0), for_rows(b, node.input(2)));
  const ValueId c = centred(b, node.required_input(1), node.input(3));
  return {cast(b, matmul(b, a, c), DType::kInt32)};
}

std::vector<ValueId> read_quantized_matmul(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const auto rows = [&](std::size_t i) { return for_rows(b, node.required_input(i)); };
  const ValueId a = centred(b, node.required_input(0), rows(2));
  const ValueId c = centred(b, node.required_input(3), node.required_input(5));
  return {requantized(b, matmul(b, a, c), rows(1), node.required_input(4), rows(6), rows(7))};
}

std::vector<ValueId> read_conv_integer(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  return {cast(b,
               integer_conv(node, node.required_input(0), node.required_input(1), node.input(2),
                            node.input(3)),
               DType::kInt32)};
}

// The bias is in steps of the product.
std::vector<ValueId> read_quantized_conv(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId w = node.required_input(3);
  const std::size_t behind = b.type(w).shape.rank() - 2;
  ValueId product =
      integer_conv(node, node.required_input(0), w, node.required_input(2), node.required_input(5));
  if (node.input(8).valid()) {
    product = add(b, product, for_rows(b, cast(b, node.input(8), DType::kFloat64), behind));
  }
  return {requantized(b, product, node.required_input(1),
                      for_rows(b, node.required_input(4), behind), node.required_input(6),
                      node.required_input(7))};
}

}  // namespace lowtide::ops
