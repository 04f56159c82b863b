// Sums, means, maxima, minima and products along axes, and the gradient of broadcasting.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// Integer means are cut towards zero. A maximum or minimum is NaN where any element is; the
// gradient of one is split evenly between the elements that attain it. Products have no gradient.
enum class ReduceKind : std::uint8_t { kSum, kMean, kMax, kMin, kProd };
inline constexpr std::size_t kReduceKinds = 5;

// The op keeps reduced axes with length 1, and the input's layout.
struct Reduce {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<std::size_t> axes;  // ascending, each once

  bool operator==(const Reduce&) const = default;
};

enum class KeepDims : std::uint8_t { kNo, kYes };

// One op for each kind.
const graph::OpDef& reduce_op(ReduceKind kind);

// `axes` in any order, each once. With KeepDims::kNo the reduced axes are dropped by a view, and
// the result is plain.
graph::ValueId reduce(graph::GraphBuilder& b,
                      ReduceKind kind,
                      graph::ValueId x,
                      std::vector<std::size_t> axes,
                      KeepDims keep);
graph::ValueId reduce_sum(graph::GraphBuilder& b,
                          graph::ValueId x,
                          std::vector<std::size_t> axes,
                          KeepDims keep);
graph::ValueId reduce_mean(graph::GraphBuilder& b,
                           graph::ValueId x,
                           std::vector<std::size_t> axes,
                           KeepDims keep);
graph::ValueId reduce_max(graph::GraphBuilder& b,
                          graph::ValueId x,
                          std::vector<std::size_t> axes,
                          KeepDims keep);
graph::ValueId reduce_min(graph::GraphBuilder& b,
                          graph::ValueId x,
                          std::vector<std::size_t> axes,
                          KeepDims keep);

// Sums x over the axes along which a tensor of `shape` was broadcast to x's shape, so that the
// result has `shape`: the gradient of broadcasting. Of x's layout where the ranks are equal.
graph::ValueId sum_to(graph::GraphBuilder& b, graph::ValueId x, const core::Shape& shape);

}  // namespace lowtide::ops
