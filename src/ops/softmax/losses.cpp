#include "ops/softmax/losses.h"

#include <numeric>
#include <optional>
#include <utility>

#include "core/text.h"
#include "ops/arg_max/arg_max.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/indexing/indexing.h"
#include "ops/layout/layout.h"
#include "ops/predicate/predicate.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"
#include "ops/where/choices.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

ValueId sum_of_all(GraphBuilder& b, ValueId x) {
  std::vector<std::size_t> axes(b.type(x).shape.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return reduce_sum(b, x, std::move(axes), KeepDims::kNo);
}

// What labels weigh, each in the shape of `labels`; invalid where all weigh 1. `counts` tells the
// labels that are not ignored.
ValueId weights_of(GraphBuilder& b,
                   ValueId weights,
                   ValueId labels,
                   std::optional<ValueId> counts,
                   core::DType dtype) {
  ValueId result;
  if (weights.valid()) {
    // By a look-up that does not take the weights for a table to be trained.
    std::vector<std::int64_t> tuples = b.type(labels).shape.dims();
    tuples.push_back(1);
    result = gather_nd(b, weights, reshape(b, labels, Shape(std::move(tuples))));
  }
  if (!counts) return result;
  if (!weights.valid()) return cast(b, *counts, dtype);
  return where(b, *counts, result, scalar(b, dtype, 0));
}

// The loss of labels (N, d...) under log-probabilities (N, C, d...), as the node reduces it.
ValueId likelihood_loss(graph::OnnxNode& node, ValueId log_p) {
  GraphBuilder& b = node.builder();
  const core::DType dtype = b.type(log_p).dtype;
  ValueId labels = to_plain(b, node.required_input(1));
  const Shape shape = b.type(labels).shape;
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.begin() + (dims.empty() ? 0 : 1), 1);
  labels = reshape(b, labels, Shape(std::move(dims)));

  std::optional<ValueId> counts;
  if (node.has("ignore_index")) {
    const core::DType index = b.type(labels).dtype;
    const auto ignored = static_cast<double>(node.integer("ignore_index", 0));
    counts = logical_not(b, binary(b, BinaryKind::kEqual, labels, scalar(b, index, ignored)));
    labels = where(b, *counts, labels, scalar(b, index, 0));
  }
  const ValueId weight = weights_of(b, node.input(2), labels, counts, dtype);
  ValueId loss = neg(b, gather_elements(b, log_p, labels, 1));
  if (weight.valid()) loss = mul(b, loss, weight);
  if (counts) loss = where(b, *counts, loss, scalar(b, dtype, 0));

  const std::string reduction = node.string("reduction", "mean");
  if (reduction == "none") return reshape(b, loss, shape);
  const ValueId sum = sum_of_all(b, loss);
  if (reduction == "sum") return sum;
  if (reduction != "mean") {
    throw fail(ErrorCode::kInvalidFile, "unknown reduction \"{}\"", reduction);
  }
  if (weight.valid()) return div(b, sum, sum_of_all(b, weight));
  return scale(b, sum, 1.0 / static_cast<double>(shape.elements()));
}

}  // namespace

std::vector<ValueId> read_likelihood_loss(graph::OnnxNode& node) {
  return {likelihood_loss(node, to_plain(node.builder(), node.required_input(0)))};
}

std::vector<ValueId> read_cross_entropy_loss(graph::OnnxNode& node) {
  const ValueId log_p = log_softmax(node.builder(), node.required_input(0), 1);
  return {likelihood_loss(node, log_p), log_p};
}

// Before opset 13 the tensor is flattened to two dimensions at `axis`, as for Softmax.
std::vector<ValueId> read_hardmax(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const Shape shape = b.type(x).shape;
  const core::DType dtype = b.type(x).dtype;
  const auto along = [&](ValueId lines, std::int64_t axis) {
    const std::int64_t length =
        b.type(lines).shape[core::normalized_axis(axis, b.type(lines).shape.rank())];
    return one_hot(b, arg_max(b, lines, axis), length, scalar(b, dtype, 0), scalar(b, dtype, 1),
                   axis);
  };
  if (node.opset() >= 13) return {along(x, node.integer("axis", -1))};
  return {reshape(b, along(flattened_at(b, x, node.integer("axis", 1)), 1), shape)};
}

}  // namespace lowtide::ops
