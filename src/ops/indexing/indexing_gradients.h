// The gradients of gathering from and scattering to computed places.
#pragma once

#include "graph/builder.h"
#include "ops/indexing/indexing.h"

namespace lowtide::ops {

graph::InputGradients gradient_of_gather(const Indexing& at, graph::GradientContext& g);
graph::InputGradients gradient_of_scatter(const Scatter& a, graph::GradientContext& g);

}  // namespace lowtide::ops
