// Evaluation: the spine of `eval`. Loss and metrics of a model over a data set, inside a budget.
#pragma once

#include "lowtide/infer.h"

namespace lowtide::train {

EvalReport evaluate(const EvalSettings& settings);

}  // namespace lowtide::train
