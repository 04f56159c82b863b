// lowtide plan: says what a training run would need, without running it.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/error.h"
#include "lowtide/plan.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report/progress.h"
#include "cli/report/report_json.h"
#include "cli/report/whole_file.h"

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

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  struct Options {
    TrainSettings settings;
    RawModel model;
    RawLoss loss;
    std::filesystem::path out;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("plan", "Plan a training run inside a budget, without running it");
  add_training(*command, options->settings, options->model, options->loss);
  command
      ->add_option("-o,--out", options->out,
                   "Write the plan, for `lowtide train --plan` and other programs")
      ->type_name("plan.json");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      finish(options->model, options->settings.model);
      finish(options->loss, options->settings.loss);
      const PlanReport report = plan_training(options->settings);
      if (options->json) fmt::print("{}\n", to_json(report).dump(2));
      if (!options->json) say(false, report.fits ? plan_text(report) : refusal(report));
      if (report.fits && !options->out.empty()) write_plan(report, options->out);
      return report.fits ? 0 : 1;
    };
  });
}

}  // namespace lowtide::cli
