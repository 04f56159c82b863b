// Inference: the spine of `run`. One pass of a model over inputs from .npy files, inside a budget.
#pragma once

#include <vector>

#include "lowtide/infer.h"

namespace lowtide::serve {

std::vector<OutputSummary> run(const RunSettings& settings);

}  // namespace lowtide::serve
