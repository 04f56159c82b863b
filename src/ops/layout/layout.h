// Layout conversion: the only op that moves a tensor between the plain and channels-last orders.
#pragma once

#include "graph/builder.h"

namespace lowtide::ops {

struct ConvertLayout {
  core::Layout to = core::Layout::kPlain;

  bool operator==(const ConvertLayout&) const = default;
};

// The value in the wanted layout. Emits nothing where it already is, or where x itself was just
// converted from there; a view where both layouts put every element at the same place.
// to_channels_last throws Error(kInvalidArgument) below rank 3.
graph::ValueId to_plain(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId to_channels_last(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId to_layout(graph::GraphBuilder& b, graph::ValueId x, core::Layout layout);

const graph::OpDef& convert_layout_op();

}  // namespace lowtide::ops
