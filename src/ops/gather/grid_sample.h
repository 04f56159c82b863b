// GridSample and AffineGrid: an image read at places that a grid names, between its pixels too.
// Made of gathers and arithmetic, so that the image and the grid have gradients.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_grid_sample(graph::OnnxNode& node);
std::vector<graph::ValueId> read_affine_grid(graph::OnnxNode& node);

}  // namespace lowtide::ops
