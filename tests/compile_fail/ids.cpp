// Ids of values and of nodes are different types, and neither is an integer.
#include "graph/graph.h"

namespace lowtide::graph {

const Value& right(const Graph& graph, ValueId value) { return graph.value(value); }

#ifdef LT_NODE_FOR_VALUE
const Value& wrong(const Graph& graph, NodeId node) { return graph.value(node); }
#endif
#ifdef LT_COMPARE_NODE_TO_VALUE
bool wrong(ValueId value, NodeId node) { return value == node; }
#endif
#ifdef LT_NODE_INDEXES_VALUES
int wrong(const core::IdVector<ValueId, int>& values, NodeId node) { return values[node]; }
#endif
#ifdef LT_INTEGER_FOR_ID
const Value& wrong(const Graph& graph) { return graph.value(3); }
#endif

}  // namespace lowtide::graph
