// Gather: slices of a tensor by index along one axis, such as the rows of an embedding table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// The axis of the data that the indices' axes take the place of.
struct Gather {
  std::size_t axis = 0;

  bool operator==(const Gather&) const = default;
};

// Data of any dtype, indices of int32 or int64; both are brought to the plain layout. Negative
// indices count from the back. Constant indices that lie outside the axis throw
// Error(kInvalidArgument). Others cannot be refused while a step runs: they give NaN (all bits set
// for integers) and take no part in the gradient. Who feeds the network checks its inputs against
// rows_picked_by beforehand.
graph::ValueId gather(graph::GraphBuilder& b,
                      graph::ValueId data,
                      graph::ValueId indices,
                      std::int64_t axis);

// The least length of an axis that all elements of an input are indices into, directly or through
// ops that keep them: each must lie in [-length, length). Nothing where it holds no such indices.
std::optional<std::int64_t> rows_picked_by(const graph::Graph& graph, graph::ValueId input);

// Throws Error(kInvalidArgument) where `indices` are constant and one lies outside its axis: the
// i-th one's has lengths[i % lengths.size()] places.
void check_constant_indices(graph::GraphBuilder& b,
                            graph::ValueId indices,
                            const std::vector<std::int64_t>& lengths);

constexpr bool is_index_type(core::DType dtype) {
  return dtype == core::DType::kInt32 || dtype == core::DType::kInt64;
}

// Calls f with a zero of the indices' type.
template <class F>
void with_index_type(core::DType dtype, F&& f) {
  if (dtype == core::DType::kInt32) return f(std::int32_t{});
  f(std::int64_t{});
}

// Adds the gradients of all copies of a slice: indices, dy (, onto) -> a tensor of the data's
// `shape`, on top of `onto` and in its memory where nobody else reads that.
struct GatherGradient {
  std::size_t axis = 0;
  core::Shape shape;

  bool operator==(const GatherGradient&) const = default;
};

// sum + gradient. Where the gradient is a GatherGradient's alone, its rows are added to the sum.
graph::ValueId add_gradient(graph::GraphBuilder& b, graph::ValueId sum, graph::ValueId gradient);

const graph::OpDef& gather_op();
const graph::OpDef& gather_gradient_op();

}  // namespace lowtide::ops
