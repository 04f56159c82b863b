// lowtide eval: loss and metrics of a model on a data set.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lowtide/infer.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report/progress.h"

namespace lowtide::cli {

void add_eval(CLI::App& app, Action& action) {
  struct Options {
    EvalSettings settings;
    RawModel model;
    RawLoss loss;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("eval", "Loss and metrics on a data set (an IDX folder's test part)");
  add_model(*command, options->settings.model, options->model);
  command->add_option("--output", options->settings.model.output, "The output the loss reads")
      ->type_name("NAME");
  add_budget(*command, options->settings.memory);
  add_data(*command, options->settings.data)->required();
  add_loss(*command, options->settings.loss, options->loss);
  add_machine(*command, options->settings.machine);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      finish(options->model, options->settings.model);
      finish(options->loss, options->settings.loss);
      const EvalReport report = evaluate_model(options->settings);
      if (options->json) {
        nlohmann::json json = {
            {"loss", report.loss}, {"metrics", report.metrics}, {"samples", report.samples}};
        if (!report.classes.empty()) json["classes"] = report.classes;
        print_json(json);
        return 0;
      }
      if (!report.classes.empty()) {
        say(false, fmt::format("classes {}", fmt::join(report.classes, ", ")));
      }
      std::string text = fmt::format("loss {:.6f}", report.loss);
      for (const auto& [name, value] : report.metrics)
        text += fmt::format("  {} {:.4f}", name, value);
      say(false, fmt::format("{}  over {} samples in {}", text, report.samples,
                             duration_text(report.seconds)));
      return 0;
    };
  });
}

}  // namespace lowtide::cli
