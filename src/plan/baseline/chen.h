// Square-root segments (Chen et al. 2016): cut the forward pass into segments of about equal saved
// bytes, keep what crosses a cut, and compute the rest of a segment again when its turn comes.
#pragma once

#include <vector>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// For several numbers of segments around the square root of the number of tensors.
std::vector<Choices> chen(const Problem& problem);

}  // namespace lowtide::plan
