// Validation: evaluates the present weights on other data, within the memory that training uses.
#pragma once

#include <cstdint>

#include "lowtide/infer.h"
#include "lowtide/trainer.h"

#include "data/loader.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/fit/configuration.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

class Validation {
 public:
  // Reads the recipe's validation data in batches of that many samples, two of which it holds.
  Validation(const Recipe& recipe, std::int64_t batch);

  // All of the data through the evaluation programs of a bound configuration, whose micro-batch
  // must be that number. Loss and metrics, as `eval` gives them for a file with these weights.
  EvalReport run(const Configuration& configuration);

 private:
  const Recipe* recipe_;
  data::Loader loader_;
};

// How the run stands in a checkpoint's record, and back; nothing where there is nothing.
CheckpointRecord standing_record(const Standing& standing);
Standing standing_of(const CheckpointRecord& record);

}  // namespace lowtide::train
