#include "core/shape.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/text.h"

namespace lowtide::core {
namespace {

std::int64_t checked_product(const std::vector<std::int64_t>& dims) {
  // Zero dimensions make the product 0, but the others must still be sane: later stages multiply
  // subsets of them.
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw fail(ErrorCode::kInvalidArgument, "negative dimension in shape {}", dims);
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (product > std::numeric_limits<std::int64_t>::max() / 16 / dim) {
      throw fail(ErrorCode::kInvalidArgument, "shape {} has too many elements", dims);
    }
    product *= dim;
  }
  return empty ? 0 : product;
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> dims) : Shape(std::vector<std::int64_t>(dims)) {}

Shape::Shape(std::vector<std::int64_t> dims)
    : dims_(std::move(dims)), elements_(checked_product(dims_)) {}

Shape Shape::with(std::size_t axis, std::int64_t dim) const {
  std::vector<std::int64_t> dims = dims_;
  dims.at(axis) = dim;
  return Shape(std::move(dims));
}

std::string Shape::str() const { return text("[{}]", fmt::join(dims_, ", ")); }

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    throw fail(ErrorCode::kInvalidArgument, "axis {} is outside a tensor of rank {}", axis, rank);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Shape broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t da = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
    const std::int64_t db = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
    if (da != db && da != 1 && db != 1) {
      throw fail(ErrorCode::kInvalidArgument, "shapes {} and {} do not broadcast", a.str(),
                 b.str());
    }
    dims[i] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

}  // namespace lowtide::core
