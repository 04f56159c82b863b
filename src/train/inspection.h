// Inspection: what is in a model file, what would be trained and what that would take.
#pragma once

#include "lowtide/model.h"

namespace lowtide::train {

ModelReport inspect(const ModelSettings& model,
                    std::int64_t batch,
                    const SelectionSettings& selection);

}  // namespace lowtide::train
