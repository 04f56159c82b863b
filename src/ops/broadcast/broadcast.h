// Broadcast: a tensor repeated along axes of length 1, as numpy's broadcasting rules have it.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

struct Broadcast {
  core::Shape shape;

  bool operator==(const Broadcast&) const = default;
};

// x spread to `shape`, in `layout` (of rank >= 3 for channels-last). Emits nothing where x has that
// shape already, but for a change of layout. Throws Error(kInvalidArgument) for other shapes.
graph::ValueId broadcast_to(graph::GraphBuilder& b,
                            graph::ValueId x,
                            const core::Shape& shape,
                            core::Layout layout = core::Layout::kPlain);

const graph::OpDef& broadcast_op();

}  // namespace lowtide::ops
