#include "cli/train/validation.h"

#include <fmt/format.h>

#include "lowtide/error.h"

#include "cli/values.h"

namespace lowtide::cli {

void add_validation(CLI::App& command, ValidationOptions& options) {
  CLI::Option_group* const group = command.add_option_group("Validation");
  group
      ->add_option("--eval-every", options.every,
                   "Steps between validations; default: one at the end of each epoch")
      ->check(positive())
      ->type_name("N");
  group
      ->add_option("--keep-best", options.keep_best,
                   "Write the model here whenever a validation's loss is the lowest so far")
      ->type_name("BEST.onnx");
  group
      ->add_option("--early-stop", options.early_stop,
                   "End training when so many validations in a row were no better than the best")
      ->check(positive())
      ->type_name("N");
}

Validator::Validator(const ValidationOptions& options, const DataSettings& data, Trainer& trainer)
    : options_(options),
      trainer_(&trainer),
      active_(!data.validation.empty() || data.validation_split.has_value()) {
  const bool asked = options.every || options.early_stop || !options.keep_best.empty();
  if (asked && !active_) {
    throw Error(ErrorCode::kInvalidArgument,
                "--eval-every, --keep-best and --early-stop need --val or --val-split");
  }
  // A run that could not write its best model has saved a checkpoint of the same state.
  const bool at_best =
      trainer.steps_done() > 0 && trainer.standing().best_step == trainer.steps_done();
  if (active_ && at_best) save_best();
}

void Validator::save_best() const {
  if (!options_.keep_best.empty()) trainer_->save(options_.keep_best);
}

bool Validator::due(const StepReport& step) const {
  return options_.every ? step.step % *options_.every == 0 : step.epoch_ends;
}

bool Validator::only_as_last(const StepReport& step) const {
  return active_ && step.step == trainer_->total_steps() && !due(step);
}

std::optional<EvalReport> Validator::after(const StepReport& step) {
  if (!active_ || !(due(step) || only_as_last(step))) return std::nullopt;
  EvalReport report = trainer_->validate();
  const bool best = trainer_->standing().best_step == step.step;
  if (best) save_best();
  words_ = fmt::format("step {}: validation loss {:.6f}", step.step, report.loss);
  for (const auto& [name, value] : report.metrics) {
    words_ += fmt::format(", {} {:.4f}", name, value);
  }
  if (best) words_ += ", the best so far";
  return report;
}

bool Validator::ends() const {
  return active_ && options_.early_stop && trainer_->standing().since_best >= *options_.early_stop;
}

}  // namespace lowtide::cli
