// Optimizers as graph nodes: state values, norms and one update node for each parameter.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/optimizer.h"

#include "graph/builder.h"
#include "ops/update/update.h"

namespace lowtide::optim {

// A parameter (a state value) and the gradient of the loss with respect to it.
struct Trained {
  graph::ValueId parameter;
  graph::ValueId gradient;
};

struct Updates {
  graph::ValueId scalars;    // input "lowtide/scalars", to be filled with scalars_for()
  graph::ValueId grad_norm;  // output "lowtide/grad_norm": before clipping, a float32 scalar
};

// Appends an optimizer step to the graph. Its state is "<parameter>/momentum" (SGD with momentum)
// or "<parameter>/exp_avg" and "<parameter>/exp_avg_sq" (Adam), all zeros at first, and the mean of
// the weights, ema_name(), where settings ask for it. Without
// clipping each update needs its own gradient only, so gradients need not live side by side; with
// clipping all of them wait for the norm. Throws Error(kInvalidArgument) for settings outside their
// ranges.
Updates add_updates(graph::GraphBuilder& b,
                    std::span<const Trained> trained,
                    const OptimizerSettings& settings);

// What "lowtide/scalars" holds in the optimizer step of that number, counted from 1.
using Scalars = std::array<float, static_cast<std::size_t>(ops::kUpdateScalars)>;
Scalars scalars_for(const OptimizerSettings& settings, double lr, std::int64_t step);

// For batches that run in parts: adds the gradients of a part to state values, from which
// add_updates() takes them in a graph of its own, run once after the last part.
struct Accumulation {
  graph::ValueId first;              // input "lowtide/first": 1 in a batch's first part, else 0
  std::vector<graph::ValueId> sums;  // "<parameter>/gradient", in the order of `trained`
};
Accumulation add_accumulation(graph::GraphBuilder& b, std::span<const Trained> trained);

// The name of the state value that holds a parameter's summed gradient.
std::string accumulator_name(std::string_view parameter);
// And of the one that holds the running mean of its values.
std::string ema_name(std::string_view parameter);

}  // namespace lowtide::optim
