// lowtide zoo: writes a well-known network with fresh weights.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/zoo.h"

#include "cli/commands.h"
#include "cli/values.h"

namespace lowtide::cli {
namespace {

void add_number(CLI::App& command, const char* name, std::int64_t& to, const char* meaning) {
  command.add_option(name, to, meaning)->check(positive())->type_name("N");
}

void add_settings(CLI::App& command, ZooSettings& settings) {
  add_number(command, "--depth,--layers", settings.depth, "Layers, or blocks of a transformer");
  add_number(command, "--width", settings.width, "Hidden units, or a widening factor");
  command.add_option("--blocks", settings.blocks, "Blocks per stage instead of a depth")
      ->delimiter(',')
      ->type_name("A,B,C,D");
  command.add_option("--block", settings.block, "The blocks of a resnet")
      ->check(CLI::IsMember({"basic", "bottleneck"}))
      ->type_name("basic|bottleneck");
  add_number(command, "--groups", settings.groups, "Groups of a block's middle convolution");
  add_number(command, "--growth", settings.growth, "Channels that a layer of a densenet adds");
  add_number(command, "--group-width", settings.group_width, "Channels of such a group");
  command.add_flag("--batch-norm", settings.batch_norm, "Batch norm after each convolution");
  add_number(command, "--heads", settings.heads, "Heads of attention");
  add_number(command, "--vocabulary", settings.vocabulary, "Tokens that there are");
  add_number(command, "--sequence", settings.sequence, "Tokens of a sample");
  add_number(command, "--patch", settings.patch, "Height and width of what becomes one token");
  add_number(command, "--classes", settings.classes, "Outputs");
  add_number(command, "--channels", settings.channels, "Of the input image");
  add_number(command, "--size", settings.size, "Height and width of the input image");
  command.add_option("--seed", settings.seed, "Of the fresh weights")
      ->check(whole_number())
      ->type_name("N");
}

void list_networks() {
  for (const ZooNetwork& network : zoo_networks()) {
    say(false, fmt::format("{}: {}", network.name, network.about));
    say(false, fmt::format("    {} parameters with the usual values",
                           fmt::group_digits(network.parameters)));
    for (const ZooOption& option : network.options) {
      const std::string usual = option.usual.empty() ? "" : fmt::format(" ({})", option.usual);
      say(false, fmt::format("    --{:<13}{}{}", option.name, option.meaning, usual));
    }
  }
}

}  // namespace

void add_zoo(CLI::App& app, Action& action) {
  struct Options {
    ZooSettings settings;
    std::filesystem::path out;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("zoo", "Write a well-known network with fresh weights");
  command->add_option("name", options->settings.name, "Which network")
      ->required()
      ->check(CLI::IsMember(zoo_names()))
      ->type_name(fmt::format("{}", fmt::join(zoo_names(), "|")));
  command->add_option("-o,--out", options->out, "The file to write")
      ->required()
      ->type_name("M.onnx");
  command->add_flag_callback(
      "--list",
      [] {
        list_networks();
        throw CLI::Success();
      },
      "List the networks with what each takes, its usual values and its parameters");
  add_settings(*command, options->settings);
  command->callback([options, &action] {
    action = [options] {
      const std::int64_t parameters = write_zoo(options->settings, options->out);
      say(false, fmt::format("wrote {} ({} parameters)", options->out.string(),
                             fmt::group_digits(parameters)));
      return 0;
    };
  });
}

}  // namespace lowtide::cli
