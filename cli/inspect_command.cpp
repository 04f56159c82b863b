// lowtide inspect: what is in a model, what would be trained, what that takes.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/model.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/values.h"

namespace lowtide::cli {
namespace {

std::string to_text(const ModelReport& report) {
  std::string text = fmt::format("opset {} from {}\n", report.opset,
                                 report.producer.empty() ? "an unnamed producer" : report.producer);
  for (const std::string& input : report.inputs) text += fmt::format("input   {}\n", input);
  for (const std::string& output : report.outputs) text += fmt::format("output  {}\n", output);
  text += "ops    ";
  for (const auto& [op, count] : report.ops) text += fmt::format(" {} x {}", count, op);
  text += "\n\n";
  for (const TensorSummary& tensor : report.tensors) {
    const char* const state = tensor.trained ? "trained" : tensor.statistic ? "moves" : "fixed";
    text += fmt::format("{:<8} {:<44} {:<28} {}\n", state, tensor.name, tensor.type, tensor.reason);
  }
  text += fmt::format("\n{} trained parameters; training at batch {} would keep:\n",
                      report.parameters, report.batch);
  for (const auto& [role, bytes] : report.training_bytes) {
    text += fmt::format("  {:<36} {:>10}\n", role, bytes.str());
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  text.pop_back();
  return text;
}

nlohmann::json to_json(const ModelReport& report) {
  nlohmann::json json = {
      {"producer", report.producer}, {"opset", report.opset}, {"inputs", report.inputs},
      {"outputs", report.outputs},   {"ops", report.ops},     {"parameters", report.parameters},
      {"batch", report.batch},       {"notes", report.notes}, {"tensors", nlohmann::json::array()}};
  for (const TensorSummary& tensor : report.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"type", tensor.type},
                               {"elements", tensor.elements},
                               {"trained", tensor.trained},
                               {"statistic", tensor.statistic},
                               {"reason", tensor.reason}});
  }
  for (const auto& [role, bytes] : report.training_bytes) {
    json["training_bytes"][role] = bytes.count();
  }
  return json;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  struct Options {
    ModelSettings model;
    RawModel raw;
    SelectionSettings selection;
    std::int64_t batch = 1;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("inspect", "Show what is in a model and what training it would need");
  add_model(*command, options->model, options->raw);
  command->add_option("--batch", options->batch, "Samples per step")
      ->capture_default_str()
      ->check(positive())
      ->type_name("N");
  add_selection(*command, options->selection);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      finish(options->raw, options->model);
      const ModelReport report = inspect_model(options->model, options->batch, options->selection);
      if (options->json) {
        print_json(to_json(report));
      } else {
        say(false, to_text(report));
      }
      return 0;
    };
  });
}

}  // namespace lowtide::cli
