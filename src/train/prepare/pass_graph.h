// PassGraph: the graph of one pass over some samples, with the values a trainer feeds and reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/settings.h"

#include "graph/graph.h"
#include "passes/parameters.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

struct PassGraph {
  graph::Graph graph;
  std::int64_t samples = 0;
  std::vector<graph::ValueId> inputs;  // one per feed of the recipe
  graph::ValueId labels;
  graph::ValueId normalizer;  // float32 scalar: what the sum of losses is multiplied by
  graph::ValueId loss;        // float64 scalar
  graph::ValueId correct;     // int64 scalar; invalid without class labels
  // In evaluation, and in training where asked for; not for every network: labels among the five
  // largest logits (int64), and the mean absolute error, as the loss is a mean (float64).
  graph::ValueId top_five;
  graph::ValueId absolute_error;
  graph::ValueId scalars;    // of the optimizer; invalid in evaluation
  graph::ValueId grad_norm;  // float32 scalar; invalid where this pass does not update
  std::vector<passes::Parameter> parameters;
  bool couples_samples = false;  // batch statistics: the samples of a pass depend on each other
  std::vector<std::string> notes;
};

// What a training pass does with the gradients it has computed.
enum class Gradients {
  kUpdate,      // updates the parameters: the pass is a whole batch
  kAccumulate,  // adds them to accumulators, to be used by the update graph
};

PassGraph build_training_pass(const Recipe& recipe,
                              const TrainSettings& settings,
                              std::int64_t samples,
                              Gradients gradients);

// Updates the parameters from the accumulators that passes of this kind have filled. No inputs but
// the scalars.
PassGraph build_update(const PassGraph& accumulating, const TrainSettings& settings);

// Forward and loss only, with the meaning ONNX gives the file.
PassGraph build_evaluation_pass(const Recipe& recipe, std::int64_t samples);

// The same with the state of training passes: what they train and their running statistics, or the
// means of what they train where these are what is saved.
PassGraph build_validation_pass(const Recipe& recipe,
                                const TrainSettings& settings,
                                std::int64_t samples);

}  // namespace lowtide::train
