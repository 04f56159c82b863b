// Where the heads of an attention lie in the tensors that they were split and transposed from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lowtide::passes {

// Element (n, h, t, d) of heads of these sizes lies in the value at offset + the sum of each index
// times its stride, elements counted as they lie.
struct HeadView {
  graph::ValueId value;
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 4> strides{};
  std::int64_t offset = 0;
};

// The heads as the value's own last four axes, or three where there is one head each; of keys, the
// last two axes may be swapped.
HeadView view_of_heads(const graph::Graph& graph, graph::ValueId heads, bool swapped);

// The same heads in what the value was reshaped, transposed or cut from, and so on to the first
// tensor; only views that go along the depth in steps of one. The last one is the farthest.
std::vector<HeadView> views_back(const graph::Graph& graph, HeadView view);

// Whether the views, all of one value and of one form, reach each of its elements once.
bool cover(const graph::Graph& graph, const std::vector<HeadView>& views);

}  // namespace lowtide::passes
