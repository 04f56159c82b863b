// Settings that nothing reads beside the others: mistakes that would go unnoticed.
#pragma once

#include "lowtide/settings.h"

#include "train/prepare/recipe.h"

namespace lowtide::train {

// These throw Error(kInvalidArgument) naming an option that has no effect, and why: a weight of
// classes beside a loss that has no classes, say. An option with its usual value is none.
void check_read(const Recipe& recipe, const DataSettings& data, const LossSettings& loss);
void check_read(const TrainSettings& settings);  // what is not of the recipe
void check_read(const EvalSettings& settings);   // likewise

}  // namespace lowtide::train
