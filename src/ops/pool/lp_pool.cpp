#include "ops/pool/lp_pool.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/pool/pool.h"
#include "ops/reduce/norms.h"
#include "ops/unary/unary.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Padding counts as zeros, so that windows may stick out into more of it at the end. Then each mean
// is of as many elements, and the sum is a multiple of it.
Pool with_whole_windows(Pool a, const Shape& x) {
  const std::vector<std::int64_t> counts =
      window_counts(window_of(a), x, a.ceil ? Rounding::kUp : Rounding::kDown);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t span =
        (counts[i] - 1) * a.strides[i] + (a.kernel[i] - 1) * a.dilations[i] + 1;
    a.pads_end[i] = std::max(a.pads_end[i], span - x[i + 2] - a.pads_begin[i]);
  }
  a.ceil = false;
  a.count_padding = true;
  return a;
}

}  // namespace

std::vector<ValueId> read_lp_pool(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const std::int64_t p = node.integer("p", 2);
  Pool a{.kernel = node.integers("kernel_shape"), .ceil = node.integer("ceil_mode", 0) != 0};
  if (a.kernel.empty() || p < 1) {
    throw core::fail(ErrorCode::kInvalidFile, "LpPool needs a kernel_shape, and p = {} above 0", p);
  }
  a = with_whole_windows(read_window(node, std::move(a), b.type(x).shape), b.type(x).shape);
  const auto taps = static_cast<double>(Shape(a.kernel).elements());
  return {root(b, scale(b, average_pool(b, power_of_size(b, x, p), std::move(a)), taps), p)};
}

}  // namespace lowtide::ops
