#include "ops/indexing/indexing_gradients.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/binary/binary.h"
#include "ops/constant/constant.h"
#include "ops/indexing/indexing_kernels.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/where/choices.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Shape;
using graph::GradientContext;
using graph::GraphBuilder;
using graph::InputGradients;
using graph::ValueId;

// What lies at the places of the updates. Updates outside the data change nothing.
ValueId read_at(GraphBuilder& b, const Scatter& a, ValueId data, ValueId indices) {
  Indexing at = a.at;
  at.zero_outside = true;
  return gather_at(b, at, data, indices);
}

ValueId scatter_by(GraphBuilder& b,
                   Scatter a,
                   ScatterReduction reduction,
                   ValueId data,
                   ValueId indices,
                   ValueId updates) {
  a.reduction = reduction;
  return scatter_at(b, a, data, indices, updates);
}

bool known_distinct(GraphBuilder& b, const Scatter& a, ValueId data, ValueId indices) {
  const auto constant = b.constant_value(indices);
  if (!constant) return false;
  std::vector<std::int64_t> places = entry_places(a.at, b.type(data), *constant);
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

// Whether an update is the last one at its place: numbers are scattered in the updates' stead, and
// what is read back is compared. For tuples one bool a slice, ready to be broadcast to it.
ValueId lasting(GraphBuilder& b, const Scatter& a, ValueId data, ValueId indices) {
  Shape slots = b.type(data).shape;
  Shape entries = b.type(indices).shape;
  std::vector<std::int64_t> broadcast = entries.dims();
  if (a.at.by == Addressing::kTuples) {
    const auto depth = static_cast<std::size_t>(broadcast.back());
    broadcast.pop_back();
    entries = Shape(broadcast);
    const auto slice = slots.dims().begin() + static_cast<std::ptrdiff_t>(a.at.batch_dims + depth);
    broadcast.resize(broadcast.size() + static_cast<std::size_t>(slots.dims().end() - slice), 1);
    slots = Shape({slots.dims().begin(), slice});
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(entries.elements()));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  const ValueId own = b.constant(entries, numbers);
  const ValueId empty = zeros(b, {DType::kInt64, slots, core::Layout::kPlain});
  const ValueId last = scatter_by(b, a, ScatterReduction::kNone, empty, indices, own);
  const ValueId same = binary(b, BinaryKind::kEqual, gather_at(b, a.at, last, indices), own);
  return reshape(b, same, Shape(std::move(broadcast)));
}

// What an update replaced has no gradient.
InputGradients gradient_of_replacing(const Scatter& a, GradientContext& g, ValueId dy) {
  GraphBuilder& b = g.builder();
  const ValueId indices = g.in(1);
  InputGradients result(3);
  if (g.needs(0)) result[0] = scatter_at(b, a, dy, indices, zeros(b, g.type(g.in(2))));
  if (!g.needs(2)) return result;
  result[2] = read_at(b, a, dy, indices);
  if (known_distinct(b, a, g.in(0), indices)) return result;
  result[2] = where(b, lasting(b, a, g.in(0), indices), result[2], scalar(b, g.type(dy).dtype, 0));
  return result;
}

InputGradients gradient_of_product(const Scatter& a, GradientContext& g, ValueId dy) {
  GraphBuilder& b = g.builder();
  const ValueId data = g.in(0);
  const ValueId indices = g.in(1);
  const ValueId updates = g.in(2);
  const ValueId zero_count = scatter_by(b, a, ScatterReduction::kAdd, zero_marks(b, data), indices,
                                        zero_marks(b, updates));
  const ValueId product = scatter_by(b, a, ScatterReduction::kMul, zeros_as_ones(b, data), indices,
                                     zeros_as_ones(b, updates));
  InputGradients result(3);
  if (g.needs(0)) result[0] = mul(b, dy, other_factors(b, data, zero_count, product));
  if (g.needs(2)) {
    const ValueId others = other_factors(b, updates, read_at(b, a, zero_count, indices),
                                         read_at(b, a, product, indices));
    result[2] = mul(b, read_at(b, a, dy, indices), others);
  }
  return result;
}

InputGradients gradient_of_extreme(const Scatter& a, GradientContext& g, ValueId dy) {
  GraphBuilder& b = g.builder();
  const ValueId indices = g.in(1);
  const ValueId attained = read_at(b, a, g.out(0), indices);
  const ValueId by_data = binary(b, BinaryKind::kSame, g.in(0), g.out(0));
  const ValueId by_update = binary(b, BinaryKind::kSame, g.in(2), attained);
  const ValueId count = scatter_by(b, a, ScatterReduction::kAdd, by_data, indices, by_update);
  const ValueId share = div(b, dy, count);
  InputGradients result(3);
  if (g.needs(0)) result[0] = mul(b, by_data, share);
  if (g.needs(2)) result[2] = mul(b, by_update, read_at(b, a, share, indices));
  return result;
}

}  // namespace

InputGradients gradient_of_gather(const Indexing& at, GradientContext& g) {
  InputGradients result(2);
  if (!g.needs(0)) return result;
  GraphBuilder& b = g.builder();
  result[0] = scatter_at(b, {.at = at, .reduction = ScatterReduction::kAdd},
                         zeros(b, g.type(g.in(0))), g.in(1), to_plain(b, g.out_gradient(0)));
  return result;
}

InputGradients gradient_of_scatter(const Scatter& a, GradientContext& g) {
  const ValueId dy = to_plain(g.builder(), g.out_gradient(0));
  switch (a.reduction) {
    case ScatterReduction::kNone: return gradient_of_replacing(a, g, dy);
    case ScatterReduction::kMul: return gradient_of_product(a, g, dy);
    case ScatterReduction::kMax:
    case ScatterReduction::kMin: return gradient_of_extreme(a, g, dy);
    case ScatterReduction::kAdd: break;
  }
  InputGradients result(3);
  result[0] = dy;
  if (g.needs(2)) result[2] = read_at(g.builder(), a, dy, g.in(1));
  return result;
}

}  // namespace lowtide::ops
