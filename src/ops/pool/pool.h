// Pooling: the largest element or the mean of windows over one to three spatial axes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// One entry for each spatial axis; an empty list means stride 1, dilation 1 or no padding. Padding
// never wins a maximum; a mean counts it if `count_padding`. With `ceil` a last window may stick
// out beyond the padding, and what sticks out never counts.
struct Pool {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides = {};
  std::vector<std::int64_t> dilations = {};
  std::vector<std::int64_t> pads_begin = {};
  std::vector<std::int64_t> pads_end = {};
  bool ceil = false;
  bool count_padding = false;  // average only

  bool operator==(const Pool&) const = default;
};

// x is (N, C, spatial...), of any layout; the result is channels-last. The maximum is NaN where the
// window holds one; its gradient goes to the first of equal elements.
graph::ValueId max_pool(graph::GraphBuilder& b, graph::ValueId x, Pool attributes);
graph::ValueId average_pool(graph::GraphBuilder& b, graph::ValueId x, Pool attributes);

// Where the maxima of max_pool lie: int64 indices into all of x (N, C, spatial...) as if it lay in
// row-major order; `column_major` counts places within a plane of one channel the other way round.
// A window without any element of x names the first of its plane.
graph::ValueId max_pool_places(graph::GraphBuilder& b,
                               graph::ValueId x,
                               Pool attributes,
                               bool column_major = false);

// Whether each window over an input of these dims (N, C, spatial...) meets it, and not padding
// only.
bool windows_meet_input(const Pool& a, const core::Shape& x);

// One window over all of x: (N, C, 1...).
graph::ValueId global_max_pool(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId global_average_pool(graph::GraphBuilder& b, graph::ValueId x);

// The gradients need the spatial sizes of x, which strides hide.
struct PoolGradient {
  Pool pool;
  std::vector<std::int64_t> spatial;

  bool operator==(const PoolGradient&) const = default;
};

struct PoolPlaces {
  Pool pool;
  bool column_major = false;

  bool operator==(const PoolPlaces&) const = default;
};

const graph::OpDef& max_pool_op();
const graph::OpDef& max_pool_index_op();     // x to the tap of each maximum, in the least bytes
const graph::OpDef& max_pool_gradient_op();  // index, dy to dx
const graph::OpDef& max_pool_places_op();
const graph::OpDef& average_pool_op();
const graph::OpDef& average_pool_gradient_op();  // dy to dx

}  // namespace lowtide::ops
