// lowtide run: one inference.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/error.h"
#include "lowtide/infer.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/values.h"

namespace lowtide::cli {

void add_run(CLI::App& app, Action& action) {
  struct Options {
    RunSettings settings;
    RawModel model;
    std::vector<std::string> inputs;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand("run", "Run a model once on given inputs");
  add_model(*command, options->settings.model, options->model);
  repeatable(
      command->add_option("--input", options->inputs, "An input's contents; once for each input")
          ->type_name("NAME=x.npy"));
  command->add_option("-o,--out", options->settings.output, "Write all outputs")
      ->type_name("out.npz");
  add_budget(*command, options->settings.memory);
  add_machine(*command, options->settings.machine);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      finish(options->model, options->settings.model);
      for (const std::string& input : options->inputs) {
        const std::size_t equals = input.find('=');
        if (equals == std::string::npos) {
          throw Error(ErrorCode::kInvalidArgument, "--input " + input + " is not NAME=FILE.npy");
        }
        const std::string name = input.substr(0, equals);
        if (options->settings.inputs.emplace(name, input.substr(equals + 1)).second) continue;
        throw Error(ErrorCode::kInvalidArgument, "--input is given twice for '" + name + "'");
      }
      nlohmann::json json = nlohmann::json::array();
      for (const OutputSummary& output : run_model(options->settings)) {
        json.push_back({{"name", output.name},
                        {"type", output.type},
                        {"min", output.min},
                        {"max", output.max},
                        {"mean", output.mean}});
        say(options->json, fmt::format("{}: {}  min {:.6g}  max {:.6g}  mean {:.6g}", output.name,
                                       output.type, output.min, output.max, output.mean));
      }
      if (options->json) {
        print_json({{"outputs", json}, {"output", options->settings.output.string()}});
      }
      return 0;
    };
  });
}

}  // namespace lowtide::cli
