#include "ops/indexing/sequences.h"

#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/indexing/indexing.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

ValueId with_first_axes_swapped(GraphBuilder& b, ValueId x) {
  std::vector<std::size_t> perm(b.type(x).shape.rank());
  std::iota(perm.begin(), perm.end(), std::size_t{0});
  std::swap(perm[0], perm[1]);
  return transpose(b, x, std::move(perm));
}

}  // namespace

ValueId reverse_sequence(GraphBuilder& b, ValueId x, ValueId lengths, std::size_t time_axis) {
  const Shape shape = b.type(x).shape;
  if (shape.rank() < 2 || time_axis > 1 || b.type(lengths).shape != Shape{shape[1 - time_axis]}) {
    throw fail(ErrorCode::kInvalidArgument, "cannot reverse {} along axis {} by lengths {}",
               b.type(x).str(), time_axis, b.type(lengths).str());
  }
  if (time_axis == 0) x = with_first_axes_swapped(b, x);
  const std::int64_t batch = shape[1 - time_axis];
  const std::int64_t time = shape[time_axis];
  std::vector<std::int64_t> count(static_cast<std::size_t>(time));
  std::iota(count.begin(), count.end(), std::int64_t{0});
  const ValueId places = b.constant({1, time}, count);
  const ValueId ends = reshape(b, cast(b, lengths, DType::kInt64), Shape{batch, 1});
  const ValueId last = sub(b, ends, scalar(b, DType::kInt64, 1));
  const ValueId from =
      where(b, binary(b, BinaryKind::kLess, places, ends), sub(b, last, places), places);
  const ValueId reversed = gather_nd(b, x, reshape(b, from, Shape{batch, time, 1}), 1);
  return time_axis == 0 ? with_first_axes_swapped(b, reversed) : reversed;
}

std::vector<ValueId> read_reverse_sequence(graph::OnnxNode& node) {
  const std::int64_t time_axis = node.integer("time_axis", 0);
  if (time_axis != 1 - node.integer("batch_axis", 1) || time_axis < 0 || time_axis > 1) {
    throw fail(ErrorCode::kInvalidFile, "time_axis and batch_axis must be 0 and 1 or 1 and 0");
  }
  return {reverse_sequence(node.builder(), node.required_input(0), node.required_input(1),
                           static_cast<std::size_t>(time_axis))};
}

// The indices count through the tensor that the windows came from, with the sizes that follow from
// the result's; a third input adds zeros at the ends.
std::vector<ValueId> read_max_unpool(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::TensorType type = b.type(x);
  const std::vector<std::int64_t> kernel = node.integers("kernel_shape");
  std::vector<std::int64_t> strides = node.integers("strides");
  std::vector<std::int64_t> pads = node.integers("pads");
  const std::size_t axes = kernel.size();
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (type.shape.rank() != axes + 2 || strides.size() != axes || pads.size() != 2 * axes) {
    throw fail(ErrorCode::kInvalidFile, "windows of {} axes do not make {}", axes, type.str());
  }
  std::vector<std::int64_t> dims = type.shape.dims();
  for (std::size_t i = 0; i < axes; ++i) {
    dims[i + 2] = (dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[axes + i];
  }
  const Shape inside(std::move(dims));
  const Shape flat{type.shape.elements()};
  const ValueId empty = zeros(b, {type.dtype, Shape{inside.elements()}, core::Layout::kPlain});
  const ValueId filled =
      scatter_elements(b, empty, reshape(b, node.required_input(1), flat), reshape(b, x, flat), 0);
  const ValueId whole = reshape(b, filled, inside);
  const auto wanted = node.constant_integers(2);
  if (!wanted) return {whole};
  if (wanted->size() != inside.rank()) {
    throw fail(ErrorCode::kInvalidFile, "{} and output_shape {} differ in rank", inside.str(),
               *wanted);
  }
  Pad rest{.before = std::vector<std::int64_t>(inside.rank(), 0), .after = *wanted};
  for (std::size_t i = 0; i < inside.rank(); ++i) rest.after[i] -= inside[i];
  return {pad(b, whole, std::move(rest))};
}

}  // namespace lowtide::ops
