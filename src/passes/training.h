// Training semantics for an inference graph: batch statistics and dropout.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "passes/rewrite.h"

namespace lowtide::passes {

// How running variances are updated: with the batch variance divided by n - 1, or by n.
enum class RunningRule { kPyTorch, kOnnx };

struct Training {
  Rewritten rewritten;
  bool couples_samples = false;  // some batch statistic depends on all samples of a pass
  int batch_norms = 0;
};

// Every BatchNormalization normalises by the batch's statistics and moves its running statistics
// once a step, in one node with the activation that follows it; every Dropout drops. `samples`: of
// a pass, the first dimension of its inputs.
Training to_training(const graph::Graph& inference, RunningRule rule, std::int64_t samples);

}  // namespace lowtide::passes
