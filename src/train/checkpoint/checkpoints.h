// Checkpoints: those of one run, the one it goes on from and those that it leaves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/settings.h"

#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/run_record.h"
#include "train/fit/configuration.h"
#include "train/fit/state_memory.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

class Checkpoints {
 public:
  // Opens the checkpoint to go on from and reads it through. Throws Error as CheckpointFile::open.
  explicit Checkpoints(const CheckpointSettings& settings);

  // Updates that the run has behind it: 0 for one that begins.
  [[nodiscard]] std::int64_t step() const { return resumed_ ? resumed_->number(kStepKey) : 0; }

  // What the checkpoint to go on from says; empty for a run that begins, and after restore().
  [[nodiscard]] CheckpointRecord resumed_record() const {
    return resumed_ ? resumed_->record() : CheckpointRecord();
  }

  // The micro-batch to use: where none is asked for, that of the checkpoint, since another one
  // orders sums in another way. At most the batch.
  [[nodiscard]] std::int64_t micro_batch(std::int64_t asked, std::int64_t batch) const;

  // Settles what the run is, and holds it against the checkpoint. Throws Error(kInvalidArgument)
  // naming what differs; returns notes.
  std::vector<std::string> settle(const Recipe& recipe,
                                  const TrainSettings& settings,
                                  const Configuration& configuration);

  // Bytes that writing and reading hold.
  [[nodiscard]] Bytes memory(const Configuration& configuration) const;

  // Throws where saving would overwrite what this run does not go on from; removes what killed runs
  // left half-written.
  void claim() const;

  // Puts the checkpoint's state in its places; closes it.
  void restore(const Configuration& configuration, const StateMemory& memory);

  void save(const std::filesystem::path& path,
            int keep,
            std::int64_t step,
            CheckpointRecord record,
            const Recipe& recipe,
            const TrainSettings& settings,
            const Configuration& configuration,
            const StateMemory& memory);

 private:
  void describe(const Recipe& recipe,
                const TrainSettings& settings,
                const Configuration& configuration);
  void match_tensors(const Configuration& configuration) const;
  [[nodiscard]] bool resumes_beside() const;

  CheckpointSettings settings_;
  std::optional<CheckpointFile> resumed_;
  std::vector<RunField> run_;    // what this run is, once that is asked for
  std::vector<RunField> model_;  // and what it trains
  std::filesystem::path whole_;  // where a checkpoint of this run is known to stand
};

}  // namespace lowtide::train
