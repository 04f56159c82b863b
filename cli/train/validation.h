// Validation while training: when it happens, what it says, and what follows from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "lowtide/infer.h"
#include "lowtide/trainer.h"

namespace lowtide::cli {

struct ValidationOptions {
  std::optional<std::int64_t> every;       // steps; none: at the end of each epoch
  std::filesystem::path keep_best;         // where the best model goes; empty: nowhere
  std::optional<std::int64_t> early_stop;  // validations in a row that are no better
};

void add_validation(CLI::App& command, ValidationOptions& options);

class Validator {
 public:
  // Throws Error(kInvalidArgument) where the options ask for validation and there is no data. Where
  // a run goes on from its best state, that is written again.
  Validator(const ValidationOptions& options, const DataSettings& data, Trainer& trainer);

  // Whether a step is validated for no other reason than that it is the last one: a run that goes
  // further does not validate there.
  [[nodiscard]] bool only_as_last(const StepReport& step) const;

  // After a step, and after the last one of all in any case: validates if it is time, and writes
  // the model if it is the best so far.
  std::optional<EvalReport> after(const StepReport& step);

  // What the last validation found, in words.
  [[nodiscard]] const std::string& words() const { return words_; }

  // Whether so many validations in a row were no better that training ends.
  [[nodiscard]] bool ends() const;

 private:
  [[nodiscard]] bool due(const StepReport& step) const;
  void save_best() const;

  ValidationOptions options_;
  Trainer* trainer_;
  bool active_;
  std::string words_;
};

}  // namespace lowtide::cli
