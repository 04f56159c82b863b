// lowtide plan: says what a training run would need, without running it.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/error.h"
#include "lowtide/plan.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report/html_page.h"
#include "cli/report/progress.h"
#include "cli/report/report_json.h"
#include "cli/report/sweep_text.h"
#include "cli/report/whole_file.h"
#include "cli/values.h"

namespace lowtide::cli {
namespace {

void write_plan(const PlanReport& report, const std::filesystem::path& path) {
  write_whole(path, "plan", [&](std::ostream& stream) { stream << report.plan_json; });
}

nlohmann::json to_json(const PlanReport& report) {
  nlohmann::json json = {{"fits", report.fits},
                         {"budget_bytes", report.budget.count()},
                         {"smallest_feasible_bytes", report.smallest_feasible.count()},
                         {"arena_bytes", report.arena.count()},
                         {"runtime_bytes", report.runtime.count()},
                         {"batch", report.batch},
                         {"micro_batch", report.micro_batch},
                         {"planning_seconds", report.planning_seconds},
                         {"costs", report.costs},
                         {"notes", report.notes}};
  json.update(plan_json(report));
  return json;
}

std::string refusal(const PlanReport& report) {
  std::string text = fmt::format(
      "does not fit: a budget of {} is too small; the smallest that works is {} ({} bytes).\n"
      "Most is in use at '{}', by\n",
      report.budget.str(), report.smallest_feasible.str(), report.smallest_feasible.count(),
      report.peak_node);
  for (const BudgetShare& share : report.spent) {
    text += fmt::format("  {:<44} {:>10}\n", share.role, share.bytes.str());
  }
  text.pop_back();
  return text;
}

struct Options {
  TrainSettings settings;
  RawModel model;
  RawLoss loss;
  std::filesystem::path out;
  std::filesystem::path report;
  PlanQuestions questions;
  bool json = false;
};

void print(const PlanReport& report, const Options& options) {
  if (options.json) {
    nlohmann::json json = to_json(report);
    if (report.sweep && options.questions.sweep) json["sweep"] = sweep_json(*report.sweep);
    for (std::size_t i = 0; i < report.explanations.size(); ++i) {
      json["explanations"][options.questions.explain[i]] = report.explanations[i];
    }
    print_json(json);
    return;
  }
  say(false, report.fits ? plan_text(report) : refusal(report));
  if (report.sweep && options.questions.sweep) say(false, "\n" + sweep_text(*report.sweep));
  for (std::size_t i = 0; i < report.explanations.size(); ++i) {
    const std::string& text = report.explanations[i];
    if (!text.empty()) say(false, "\n" + text.substr(0, text.size() - 1));
  }
}

// A name that nothing has is a mistake.
void check_names(const PlanReport& report, const Options& options) {
  for (std::size_t i = 0; i < report.explanations.size(); ++i) {
    if (!report.explanations[i].empty()) continue;
    throw Error(ErrorCode::kInvalidArgument, options.settings.model.path.string() +
                                                 ": no node or tensor of the plan is named '" +
                                                 options.questions.explain[i] + "'");
  }
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("plan", "Plan a training run inside a budget, without running it");
  add_training(*command, options->settings, options->model, options->loss);
  command
      ->add_option("-o,--out", options->out,
                   "Write the plan, for `lowtide train --plan` and other programs")
      ->type_name("plan.json");
  command->add_flag("--sweep", options->questions.sweep,
                    "Compare all policies over budgets, from the smallest that works to that of "
                    "keeping everything");
  command
      ->add_option("--report", options->report,
                   "Write a page that shows the plan: buffers over time, budgets against time")
      ->type_name("FILE.html");
  repeatable(command
                 ->add_option("--explain", options->questions.explain,
                              "Say what the plan does with a node or tensor, and why; may repeat")
                 ->type_name("NAME"));
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      finish(options->model, options->settings.model);
      finish(options->loss, options->settings.loss);
      PlanQuestions questions = options->questions;
      if (!options->report.empty()) questions.sweep = questions.idle_tensors = true;
      const PlanReport report = plan_training(options->settings, questions);
      check_names(report, *options);
      print(report, *options);
      if (report.fits && !options->out.empty()) write_plan(report, options->out);
      if (report.fits && !options->report.empty()) {
        write_page(options->report,
                   {.model = options->settings.model.path.filename().string(),
                    .plan = report,
                    .write_plan = [&](std::ostream& stream) { stream << report.plan_json; }});
      }
      return report.fits ? 0 : 1;
    };
  });
}

}  // namespace lowtide::cli
