// The ids of a graph's values and nodes.
#pragma once

#include "core/ids.h"

namespace lowtide::graph {

struct ValueTag;
struct NodeTag;
using ValueId = core::Id<ValueTag>;
using NodeId = core::Id<NodeTag>;

}  // namespace lowtide::graph
