// lowtide train: trains a model on data inside a budget.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/error.h"
#include "lowtide/trainer.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report/curves.h"
#include "cli/report/html_page.h"
#include "cli/report/metric_sums.h"
#include "cli/report/progress.h"
#include "cli/report/report_json.h"
#include "cli/report/trace_report.h"
#include "cli/train/event_log.h"
#include "cli/train/files.h"
#include "cli/train/step_log.h"
#include "cli/train/thinned.h"
#include "cli/train/validation.h"

namespace lowtide::cli {
namespace {

// Set by the first Ctrl-C, SIGTERM or SIGHUP; a second one ends the process as usual.
std::atomic<bool> interrupted =
    false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

struct Options {
  TrainSettings settings;
  RawModel model;
  RawLoss loss;
  std::filesystem::path out;
  std::filesystem::path log;
  std::filesystem::path tensorboard;
  std::filesystem::path trace;
  std::filesystem::path report;
  ValidationOptions validation;
  bool json = false;
};

// What the steps add up to.
struct Totals {
  Thinned losses;
  Thinned seconds;
  double fastest = std::numeric_limits<double>::infinity();  // seconds of a step
  double spill_wait = 0;                                     // of all of them
  std::optional<EvalReport> validation;                      // the last one
  MetricSums epoch;
  std::map<std::string, double> metrics;  // of the last whole epoch, on the training data as seen

  void add(const StepReport& step) {
    losses.add(step.loss);
    seconds.add(step.seconds);
    fastest = std::min(fastest, step.seconds);
    spill_wait += step.spill_wait;
    epoch.add(step);
    if (!step.epoch_ends) return;
    metrics = epoch.metrics();
    epoch = {};
  }
};

nlohmann::json result_json(const Options& options, const Trainer& trainer, const Totals& totals) {
  constexpr std::size_t kMostLosses = 100;
  std::vector<double> seconds = totals.seconds.kept();
  std::sort(seconds.begin(), seconds.end());
  nlohmann::json metrics = nlohmann::json::object();
  for (const auto& [name, value] : totals.metrics) metrics["train_" + name] = value;
  if (totals.validation) {
    metrics["val_loss"] = totals.validation->loss;
    for (const auto& [name, value] : totals.validation->metrics) metrics["val_" + name] = value;
  }
  if (trainer.standing().best_step >= 0) {
    metrics["best_val_loss"] = trainer.standing().best_loss;
    metrics["best_step"] = trainer.standing().best_step;
  }
  const PlanReport& plan = trainer.plan();
  return {{"steps", trainer.steps_done()},
          {"loss", totals.losses.few(kMostLosses)},
          {"metrics", metrics},
          {"step_seconds",
           {{"min", seconds.empty() ? 0.0 : totals.fastest},
            {"median", seconds.empty() ? 0.0 : seconds[seconds.size() / 2]}}},
          {"spill_wait_seconds", totals.spill_wait},
          {"budget_bytes", plan.budget.count()},
          {"smallest_feasible_bytes", plan.smallest_feasible.count()},
          {"arena_bytes", plan.arena.count()},
          {"runtime_bytes", plan.runtime.count()},
          {"peak_rss_bytes", peak_resident().count()},
          {"micro_batch", plan.micro_batch},
          {"plan", plan_json(plan)},
          {"notes", plan.notes},
          {"checkpoint", options.settings.checkpoint.file.string()},
          {"output", options.out.string()}};
}

// Saves the checkpoints that the settings ask for.
class CheckpointWriter {
 public:
  CheckpointWriter(const CheckpointSettings& settings, Trainer& trainer)
      : settings_(settings), trainer_(&trainer), saved_(trainer.steps_done()) {}

  // After a step: saves where it is time.
  void after(const StepReport& step) {
    const bool due = settings_.every ? step.step % *settings_.every == 0 : step.epoch_ends;
    if (due) save();
  }

  // The present state, where it is not saved yet.
  void save() {
    if (settings_.file.empty() || saved_ == trainer_->steps_done()) return;
    trainer_->save_checkpoint(settings_.file, settings_.keep);
    saved_ = trainer_->steps_done();
  }

  // What a run that ends in an error leaves to go on from, in words.
  std::string save_after_error() {
    if (settings_.file.empty()) return "";
    try {
      save();
    } catch (const Error&) {
      // The state is spoilt, or saving is what failed: the error that ended the run says enough.
    }
    return saved_ > 0 ? fmt::format("; {} holds step {}", settings_.file.string(), saved_) : "";
  }

 private:
  CheckpointSettings settings_;
  Trainer* trainer_;
  std::int64_t saved_;
};

// Steps to the end, or until a signal comes.
Totals run_steps(const Options& options, Trainer& trainer, Curves& curves) {
  StepLog log(options.log, trainer.steps_done());
  EventLog events(options.tensorboard, trainer.steps_done());
  CheckpointWriter checkpoints(options.settings.checkpoint, trainer);
  Validator validator(options.validation, options.settings.data, trainer);
  Progress progress(options.json, trainer.total_steps(), trainer.plan().budget);
  Totals totals;
  try {
    while (trainer.steps_done() < trainer.total_steps() && !interrupted && !validator.ends()) {
      const StepReport step = trainer.step();
      // With more steps asked for, the run goes on as if it had never stopped here.
      if (validator.only_as_last(step)) checkpoints.save();
      const std::optional<EvalReport> validation = validator.after(step);
      log.write(step, validation ? &*validation : nullptr);
      events.write(step, validation ? &*validation : nullptr);
      totals.add(step);
      if (options.settings.report) curves.add(step);
      progress.show(step);
      if (validation) {
        if (options.settings.report) curves.add(step.step, *validation);
        progress.close();
        say(options.json, validator.words());
        totals.validation = validation;
      }
      checkpoints.after(step);
    }
  } catch (const Error& error) {
    progress.close();
    throw Error(error.code(), error.what() + checkpoints.save_after_error());
  }
  progress.close();
  if (validator.ends()) {
    say(options.json, fmt::format("{} validations in a row were no better: training ends",
                                  trainer.standing().since_best));
  }
  checkpoints.save();
  return totals;
}

// Before hours of training.
void check_files(const Options& options) {
  const TrainSettings& settings = options.settings;
  const File inputs[] = {{"the model", settings.model.path},
                         {"--data", settings.data.source},
                         {"--val", settings.data.validation},
                         {"--class-weights", options.loss.class_weights},
                         {"--plan", settings.memory.plan}};
  const File outputs[] = {{"--out", options.out},
                          {"--trace", options.trace},
                          {"--report", options.report},
                          {"--keep-best", options.validation.keep_best},
                          {"--checkpoint", settings.checkpoint.file},
                          {"--log", options.log}};
  check_distinct(inputs, outputs);
  // The log is opened before the first step in any case, and may be a device.
  for (const File& output : std::span(outputs).first(std::size(outputs) - 1)) {
    check_writable(output.path);
  }
}

int train(const std::shared_ptr<Options>& options) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads along may leave
  finish(options->model, options->settings.model);
  finish(options->loss, options->settings.loss);
  check_files(*options);
  options->settings.trace = !options->trace.empty();
  options->settings.report = !options->report.empty();
  Trainer trainer(options->settings);
  say(options->json, plan_text(trainer.plan()));
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  // The terminal is gone; nohup has said that this shall not matter.
  if (std::signal(SIGHUP, interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  Curves curves;
  const Totals totals = run_steps(*options, trainer, curves);
  if (!options->out.empty()) {
    trainer.save(options->out);
    say(options->json, fmt::format("wrote {}", options->out.string()));
  }
  if (!options->trace.empty()) {
    const TraceReport trace = trainer.trace();
    write_trace(trace, options->trace);
    say(options->json, trace_text(trace));
  }
  if (options->settings.report) {
    write_page(options->report,
               {.model = options->settings.model.path.filename().string(),
                .plan = trainer.plan(),
                .write_plan = [&](std::ostream& stream) { trainer.write_plan(stream); },
                .curves = &curves});
  }
  say(options->json, fmt::format("peak resident memory {} of {}", peak_resident().str(),
                                 trainer.plan().budget.str()));
  if (options->json) print_json(result_json(*options, trainer, totals));
  return interrupted ? 130 : 0;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("train", "Train a model on data inside a budget of bytes");
  add_training(*command, options->settings, options->model, options->loss)->required();
  add_validation(*command, options->validation);
  command->add_option("-o,--out", options->out, "The trained model to write")
      ->type_name("OUT.onnx");
  command
      ->add_option("--plan", options->settings.memory.plan,
                   "Run the plan that `lowtide plan -o` wrote for this model, batch and settings")
      ->type_name("plan.json");
  command->add_option("--log", options->log, "One JSON object per step")->type_name("FILE.jsonl");
  command
      ->add_option("--tensorboard", options->tensorboard,
                   "Write the numbers of every step to an event file in this folder")
      ->type_name("DIR");
  command
      ->add_option("--trace", options->trace,
                   "Write the fastest step, node by node, in Chrome's trace format, and print the "
                   "time by op")
      ->type_name("FILE.json");
  command
      ->add_option("--report", options->report,
                   "Write a page that shows the plan and how training went")
      ->type_name("FILE.html");
  command->add_flag("--json", options->json,
                    "Print one JSON object to standard output, all else to standard error");
  command->callback([options, &action] { action = [options] { return train(options); }; });
}

}  // namespace lowtide::cli
