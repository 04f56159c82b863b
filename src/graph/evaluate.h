// Runs one node or a whole small graph on the heap, outside any plan: constant folding and tests.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"

namespace lowtide::graph {

// Outputs of one op on constant inputs, by its reference kernel.
std::vector<ConstantTensor> evaluate(const OpDef& op,
                                     const Attrs& attrs,
                                     const std::vector<ConstantTensor>& inputs,
                                     const std::vector<TensorType>& out_types);

// Runs every node in order on the machine's kernels, each value in its own buffer. `given` must
// hold every input and every persistent value without content. Returns all values by id.
std::map<ValueId, ConstantTensor> interpret(const Graph& graph,
                                            std::map<ValueId, ConstantTensor> given,
                                            const core::Machine& machine,
                                            const StepContext& step = {});

// The bytes of a persistent value (from memory, its file or its recipe; zeros without content).
ConstantTensor load_content(const Value& value);

}  // namespace lowtide::graph
