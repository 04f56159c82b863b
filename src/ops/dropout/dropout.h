// Dropout: elements set to zero at random while training.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/builder.h"
#include "kernels/simd/dropout.h"

namespace lowtide::ops {

// Each element is kept with probability 1 - ratio and then divided by it. Whether it is kept
// depends only on the run's seed, the step, the stream, the sample (the place along axis 0, counted
// from the first one of the whole batch) and the element's place within the sample in ONNX's order:
// not on layouts, threads, micro-batches or how often it is drawn. The gradient draws the mask
// again instead of keeping it.
struct Dropout {
  double ratio = 0.5;        // in [0, 1)
  std::uint64_t stream = 0;  // different for each dropout of a network
  bool active = false;       // inactive: the identity, which costs nothing
  // How far one sample of the batch moves along axis 0: more than 1 where the batch was merged with
  // another axis (attention heads).
  std::int64_t rows_per_sample = 1;

  bool operator==(const Dropout&) const = default;
};

// Keeps x's layout. Emits nothing for a ratio of 0. Throws Error(kInvalidArgument) for a ratio
// outside [0, 1).
graph::ValueId dropout(graph::GraphBuilder& b, graph::ValueId x, Dropout attributes);
// Which elements the same dropout of x keeps, as bool; all where it is inactive.
graph::ValueId dropout_mask(graph::GraphBuilder& b, graph::ValueId x, Dropout attributes);

// The stream that belongs to a node's name.
std::uint64_t dropout_stream(std::string_view name);

// Where a step's words for it are in the random stream.
kernels::DropoutStream stream_at(const Dropout& a, const graph::StepContext& step);

// Switches every dropout of a graph on, for a batch of so many samples; returns how many there are.
int activate_dropout(graph::Graph& graph, std::int64_t batch);

const graph::OpDef& dropout_op();
const graph::OpDef& dropout_mask_op();

}  // namespace lowtide::ops
