// OpCase: a small graph around one op, for the every-op harness and the op benchmarks. Linked into
// tests and benchmarks only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor_type.h"
#include "graph/builder.h"

namespace lowtide::ops {

// How the harness fills an input. Float values are drawn uniformly from [low, high]; integers from
// the whole numbers in it. `apart` keeps the elements of one tensor at least that far from each
// other and from 0 (so finite differences do not cross a kink of Relu or a tie of MaxPool).
struct CaseInput {
  core::Shape shape;
  double low = -2.0;
  double high = 2.0;
  double apart = 0.0;
  core::DType dtype = core::DType::kFloat32;  // float inputs become float64 for gradient checks
  bool differentiable = true;                 // whether its gradient is checked (floats only)
};

struct OpCase {
  std::string name;  // "softmax/last_axis"
  std::vector<CaseInput> inputs;
  // Builds the op on the inputs (values of the graph, plain layout) and returns what it computes.
  // Use the dtype of the inputs for constants. Outputs of float type are differentiated.
  std::function<std::vector<graph::ValueId>(graph::GraphBuilder&,
                                            const std::vector<graph::ValueId>&)>
      build;
  // The first output is a loss: its gradient is one by definition, and only it is differentiated.
  bool loss = false;
  double tolerance = 1e-5;  // of fast kernels against the reference in float32, relative to the
                            // largest magnitude of the output
  double gradient_tolerance = 1e-6;  // against central differences in float64, relative likewise
};

}  // namespace lowtide::ops
