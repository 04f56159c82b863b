// Turns an OpCase into a graph with gradients, and draws its inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/graph.h"
#include "ops/op_case.h"

namespace lowtide::ops {

// The case's op on fresh inputs, differentiated. Each float output has a seed input of its own, the
// gradient that flows into it; a loss has none.
struct CaseGraph {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;
  std::vector<graph::ValueId> outputs;
  std::vector<graph::ValueId> seeds;      // per output; invalid for integer outputs and losses
  std::vector<graph::ValueId> gradients;  // per input; invalid where not differentiable
};

// Builds in float32, or with every float input and seed in float64.
CaseGraph build_case(const OpCase& op_case, core::DType float_type);

// Deterministic contents for the case's inputs and seeds.
std::map<graph::ValueId, graph::ConstantTensor> draw_inputs(const OpCase& op_case,
                                                            const CaseGraph& built);

// The case's name as GoogleTest takes it.
std::string case_test_name(const OpCase& op_case);

}  // namespace lowtide::ops
