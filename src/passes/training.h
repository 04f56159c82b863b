// Training semantics for an inference graph: batch statistics and dropout.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "passes/dropout.h"
#include "passes/rewrite.h"

namespace lowtide::passes {

// How running variances are updated: with the batch variance divided by n - 1, or by n.
enum class RunningRule { kPyTorch, kOnnx };

struct Training {
  Rewritten rewritten;
  bool couples_samples = false;  // some batch statistic depends on all samples of a pass
  int batch_norms = 0;
  int dropouts = 0;
};

struct TrainingRules {
  RunningRule running = RunningRule::kPyTorch;
  std::int64_t samples = 1;    // of a pass, the first dimension of its inputs
  DropoutRatios dropout = {};  // by value of the inference graph
};

// Every BatchNormalization normalises by the batch's statistics and moves its running statistics
// once a step, in one node with the activation that follows it; every Dropout drops. Values that
// the rules name are dropped out as well; where one is the output of a Dropout already, that takes
// the new ratio.
Training to_training(const graph::Graph& inference, const TrainingRules& rules);

}  // namespace lowtide::passes
