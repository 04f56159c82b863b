// Reading and writing elements or slices of a tensor at computed places: GatherElements, GatherND,
// ScatterElements, ScatterND.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

enum class Addressing : std::uint8_t {
  kElements,  // an index is a place along `axis`; the other coordinates are those of the index
  kTuples,    // the indices' last axis holds coordinates of the data's axes from `batch_dims` on;
              // both have the axes before in common, and the axes behind form a slice
};

struct Indexing {
  Addressing by = Addressing::kElements;
  std::size_t axis = 0;
  std::size_t batch_dims = 0;
  bool zero_outside = false;  // what a gather reads outside the data is 0

  bool operator==(const Indexing&) const = default;
};

// What becomes of an element that an update meets.
enum class ScatterReduction : std::uint8_t { kNone, kAdd, kMul, kMax, kMin };

struct Scatter {
  Indexing at;
  ScatterReduction reduction = ScatterReduction::kNone;

  bool operator==(const Scatter&) const = default;
};

// Data of any dtype (numbers, for a reduction), indices of int32 or int64; all are brought to the
// plain layout. Negative indices count from the back. Constant indices outside the data throw
// Error(kInvalidArgument); others give NaN (all bits set for integers) or update nothing. Updates
// of one place are carried out in order: without a reduction the last one stays, and it alone has
// a gradient. Those that attain a maximum or minimum share its gradient evenly.
graph::ValueId gather_elements(graph::GraphBuilder& b,
                               graph::ValueId data,
                               graph::ValueId indices,
                               std::int64_t axis);
graph::ValueId gather_nd(graph::GraphBuilder& b,
                         graph::ValueId data,
                         graph::ValueId indices,
                         std::size_t batch_dims = 0);
graph::ValueId scatter_elements(graph::GraphBuilder& b,
                                graph::ValueId data,
                                graph::ValueId indices,
                                graph::ValueId updates,
                                std::int64_t axis,
                                ScatterReduction reduction = ScatterReduction::kNone);
graph::ValueId scatter_nd(graph::GraphBuilder& b,
                          graph::ValueId data,
                          graph::ValueId indices,
                          graph::ValueId updates,
                          ScatterReduction reduction = ScatterReduction::kNone);

// The same by attributes, of operands that are plain already.
graph::ValueId gather_at(graph::GraphBuilder& b,
                         const Indexing& at,
                         graph::ValueId data,
                         graph::ValueId indices);
graph::ValueId scatter_at(graph::GraphBuilder& b,
                          const Scatter& a,
                          graph::ValueId data,
                          graph::ValueId indices,
                          graph::ValueId updates);

const graph::OpDef& gather_elements_op();
const graph::OpDef& gather_nd_op();
const graph::OpDef& scatter_elements_op();
const graph::OpDef& scatter_nd_op();

}  // namespace lowtide::ops
