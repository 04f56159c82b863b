#include "ops/reduce/norms.h"

#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/constant/constant.h"
#include "ops/layout/layout.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using core::fail;
using graph::GraphBuilder;
using graph::ValueId;

std::vector<std::size_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

std::int64_t read_p(const graph::OnnxNode& node) {
  const std::int64_t p = node.integer("p", 2);
  if (p < 1) throw fail(ErrorCode::kInvalidFile, "p = {}", p);
  return p;
}

ValueId p_norm(GraphBuilder& b, ValueId x, std::vector<std::size_t> axes, std::int64_t p) {
  return root(b, reduce_sum(b, power_of_size(b, x, p), std::move(axes), KeepDims::kYes), p);
}

}  // namespace

ValueId power_of_size(GraphBuilder& b, ValueId x, std::int64_t p) {
  if (p == 1) return abs(b, x);
  if (p == 2) return mul(b, x, x);
  return pow(b, abs(b, x), scalar(b, b.type(x).dtype, static_cast<double>(p)));
}

ValueId root(GraphBuilder& b, ValueId x, std::int64_t p) {
  if (p == 1) return x;
  if (p == 2) return root_of_squares(b, x);
  const core::DType dtype = b.type(x).dtype;
  const ValueId none = binary(b, BinaryKind::kEqual, x, scalar(b, dtype, 0));
  const ValueId exponent = scalar(b, dtype, 1.0 / static_cast<double>(p));
  return where(b, none, scalar(b, dtype, 0),
               pow(b, where(b, none, scalar(b, dtype, 1), x), exponent));
}

ValueId rms_norm(GraphBuilder& b, ValueId x, ValueId scale, std::int64_t axis, double epsilon) {
  const std::size_t rank = b.type(x).shape.rank();
  const ValueId square = reduce_mean(
      b, mul(b, x, x), axes_from(core::normalized_axis(axis, rank), rank), KeepDims::kYes);
  const ValueId deviation = sqrt(b, add(b, square, scalar(b, b.type(x).dtype, epsilon)));
  return mul(b, mul(b, x, reciprocal(b, deviation)), scale);
}

// Where the norm is 0 the result is, whatever x comes near to: its gradient is 0 too.
std::vector<ValueId> read_lp_norm(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::DType dtype = b.type(x).dtype;
  const std::size_t axis = core::normalized_axis(node.integer("axis", -1), b.type(x).shape.rank());
  const ValueId norm = p_norm(b, x, {axis}, read_p(node));
  const ValueId none = binary(b, BinaryKind::kEqual, norm, scalar(b, dtype, 0));
  const ValueId direction = div(b, x, where(b, none, scalar(b, dtype, 1), norm));
  return {where(b, none, scalar(b, dtype, 0), direction)};
}

std::vector<ValueId> read_mean_variance_norm(graph::OnnxNode& node) {
  constexpr double kEpsilon = 1e-9;  // ONNX's own
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis :
       node.has("axes") ? node.integers("axes") : std::vector<std::int64_t>{0, 2, 3}) {
    axes.push_back(core::normalized_axis(axis, b.type(x).shape.rank()));
  }
  const ValueId centred = sub(b, x, reduce_mean(b, x, axes, KeepDims::kYes));
  const ValueId variance = reduce_mean(b, mul(b, centred, centred), axes, KeepDims::kYes);
  const ValueId deviation = add(b, root(b, variance, 2), scalar(b, b.type(x).dtype, kEpsilon));
  return {div(b, centred, deviation)};
}

std::vector<ValueId> read_rms_norm(graph::OnnxNode& node) {
  if (node.integer("stash_type", 1) != 1) {
    throw fail(ErrorCode::kUnsupported, "stash_type = {} is not supported",
               node.integer("stash_type", 1));
  }
  return {rms_norm(node.builder(), node.required_input(0), node.required_input(1),
                   node.integer("axis", -1), double{node.real("epsilon", 1e-5F)})};
}

std::vector<ValueId> read_global_lp_pool(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const std::size_t rank = b.type(x).shape.rank();
  if (rank < 3) {
    throw fail(ErrorCode::kInvalidFile, "GlobalLpPool needs positions, not {}",
               b.type(x).shape.str());
  }
  return {p_norm(b, x, axes_from(2, rank), read_p(node))};
}

}  // namespace lowtide::ops
