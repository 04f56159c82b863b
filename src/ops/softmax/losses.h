// Losses as nodes of an inference graph: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, and
// Hardmax, made of other ops. What training minimises is ops/cross_entropy.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_likelihood_loss(graph::OnnxNode& node);
std::vector<graph::ValueId> read_cross_entropy_loss(graph::OnnxNode& node);
std::vector<graph::ValueId> read_hardmax(graph::OnnxNode& node);

}  // namespace lowtide::ops
