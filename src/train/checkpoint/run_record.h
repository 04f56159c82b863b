// What a checkpoint says of the run it was made by, and whether another run may go on from it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lowtide/settings.h"

#include "train/checkpoint/checkpoint_file.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

// Whether a run that continues may have another value.
enum class Change {
  kRefused,  // the run would not be the same one, or could not go on at all
  kNoted,    // the numbers from here on are others than they would have been
  kFree,     // makes no difference
};

struct RunField {
  std::string key;   // in the record
  std::string name;  // as the user says it: "--batch"
  std::string value;
  Change change = Change::kRefused;
};

// All settings that decide a run's numbers. `micro_batch` is the one in use.
std::vector<RunField> describe_run(const Recipe& recipe,
                                   const TrainSettings& settings,
                                   std::int64_t micro_batch);

// The network, and what it holds beside the tensors that checkpoints save, as digests.
std::vector<RunField> describe_model(const Recipe& recipe, std::span<const std::string> saved);

// Throws Error(kInvalidArgument) that lists every difference that is refused, with both values;
// returns those worth a note in words.
std::vector<std::string> compare_run(const CheckpointFile& checkpoint,
                                     std::span<const RunField> run);

}  // namespace lowtide::train
