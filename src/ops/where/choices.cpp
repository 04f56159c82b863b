#include "ops/where/choices.h"

#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/where/where.h"

namespace lowtide::ops {

using core::fail;
using graph::GraphBuilder;
using graph::ValueId;

ValueId one_hot(GraphBuilder& b,
                ValueId indices,
                std::int64_t depth,
                ValueId off,
                ValueId on,
                std::int64_t axis) {
  indices = cast(b, indices, core::DType::kInt64);
  std::vector<std::int64_t> dims = b.type(indices).shape.dims();
  const std::size_t at = core::normalized_axis(axis, dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
  std::vector<std::int64_t> along(dims.size() - at, 1);
  along[0] = depth;
  std::vector<std::int64_t> places(static_cast<std::size_t>(depth));
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const ValueId negative = binary(b, BinaryKind::kLess, indices, scalar(b, core::DType::kInt64, 0));
  const ValueId from_back =
      add(b, indices, scalar(b, core::DType::kInt64, static_cast<double>(depth)));
  const ValueId index =
      reshape(b, where(b, negative, from_back, indices), core::Shape(std::move(dims)));
  const ValueId place = b.constant(core::Shape(std::move(along)), places);
  return where(b, binary(b, BinaryKind::kEqual, index, place), on, off);
}

ValueId zero_marks(GraphBuilder& b, ValueId x) {
  return binary(b, BinaryKind::kSame, x, scalar(b, b.type(x).dtype, 0));
}

ValueId zeros_as_ones(GraphBuilder& b, ValueId x) {
  const core::DType dtype = b.type(x).dtype;
  const ValueId none = binary(b, BinaryKind::kEqual, x, scalar(b, dtype, 0));
  return where(b, none, scalar(b, dtype, 1), x);
}

ValueId other_factors(GraphBuilder& b, ValueId x, ValueId zero_count, ValueId product) {
  const core::DType dtype = b.type(x).dtype;
  const ValueId none = scalar(b, dtype, 0);
  const ValueId is_zero = binary(b, BinaryKind::kEqual, x, none);
  const ValueId no_zero = binary(b, BinaryKind::kEqual, zero_count, none);
  const ValueId one_zero = binary(b, BinaryKind::kEqual, zero_count, scalar(b, dtype, 1));
  return where(b, is_zero, where(b, one_zero, product, none),
               where(b, no_zero, div(b, product, zeros_as_ones(b, x)), none));
}

std::vector<ValueId> read_thresholded_relu(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::DType dtype = b.type(x).dtype;
  const ValueId above =
      binary(b, BinaryKind::kGreater, x, scalar(b, dtype, double{node.real("alpha", 1.0F)}));
  return {where(b, above, x, scalar(b, dtype, 0))};
}

std::vector<ValueId> read_shrink(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::DType dtype = b.type(x).dtype;
  if (!core::is_float(dtype)) {
    throw fail(ErrorCode::kUnsupported, "Shrink of {}", core::name(dtype));
  }
  const double limit = double{node.real("lambd", 0.5F)};
  const ValueId bias = scalar(b, dtype, double{node.real("bias", 0.0F)});
  const ValueId below = binary(b, BinaryKind::kLess, x, scalar(b, dtype, -limit));
  const ValueId above = binary(b, BinaryKind::kGreater, x, scalar(b, dtype, limit));
  const ValueId shrunk = where(b, above, sub(b, x, bias), scalar(b, dtype, 0));
  return {where(b, below, add(b, x, bias), shrunk)};
}

std::vector<ValueId> read_one_hot(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const double depth = constant_number(node, 1);
  if (!(depth >= 0 && depth <= 1e9)) throw fail(ErrorCode::kInvalidFile, "depth = {}", depth);
  const ValueId values = node.required_input(2);
  const ValueId off = slice(b, values, {.starts = {0}, .ends = {1}});
  const ValueId on = slice(b, values, {.starts = {1}, .ends = {2}});
  return {one_hot(b, node.required_input(0), static_cast<std::int64_t>(depth), off, on,
                  node.integer("axis", -1))};
}

}  // namespace lowtide::ops
