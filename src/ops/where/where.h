// Where: one of two tensors, element by element.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

// `layout` is the result's.
struct Where {
  core::Layout layout = core::Layout::kPlain;

  bool operator==(const Where&) const = default;
};

// condition ? a : c with numpy's broadcasting among all three. `condition` is bool; a and c have
// one dtype. Where an operand of the result's rank is channels-last, all of that rank are brought
// there and so is the result.
graph::ValueId where(graph::GraphBuilder& b,
                     graph::ValueId condition,
                     graph::ValueId a,
                     graph::ValueId c);

const graph::OpDef& where_op();

}  // namespace lowtide::ops
