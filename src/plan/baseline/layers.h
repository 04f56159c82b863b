// Layers: what kind of layer each node is. The baselines are defined in these words; planning
// itself knows no ops, so the caller says.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "graph/ids.h"

namespace lowtide::plan {

enum class Layer : std::uint8_t {
  kOther,      // not one of the following, or not of the forward pass
  kProduct,    // convolution, fully connected, embedding: what is dear to repeat
  kNormalize,  // batch norm and its kin, without their statistics
  kActivate,   // activations and other functions of single elements
  kPool,       // pooling, padding, dropout
  kJoin,       // the sum of two branches, with what is fused to it
};

// By node; empty: all are kOther.
using Layers = core::IdVector<graph::NodeId, Layer>;

}  // namespace lowtide::plan
