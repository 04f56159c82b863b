// lowtide zoo: writes a well-known network with fresh weights.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/bytes.h"
#include "lowtide/zoo.h"

#include "cli/commands.h"

namespace lowtide::cli {

void add_zoo(CLI::App& app, Action& action) {
  struct Options {
    ZooSettings settings;
    std::filesystem::path out;
  };
  const auto options = std::make_shared<Options>();
  ZooSettings& settings = options->settings;
  CLI::App* const command =
      app.add_subcommand("zoo", "Write a well-known network with fresh weights");
  command->add_option("name", settings.name, "Which network")
      ->required()
      ->check(CLI::IsMember(zoo_names()))
      ->type_name(fmt::format("{}", fmt::join(zoo_names(), "|")));
  command->add_option("-o,--out", options->out, "The file to write")
      ->required()
      ->type_name("M.onnx");
  command
      ->add_option("--depth", settings.depth,
                   "Layers: resnet 18, 34, 50, ...; vgg 11, 13, 16, 19; wrn 6 n + 4")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--width", settings.width, "wrn: widening factor; mlp, vgg: hidden units")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--blocks", settings.blocks, "resnet: blocks per stage instead of a depth")
      ->delimiter(',')
      ->type_name("A,B,C,D");
  command->add_option("--classes", settings.classes, "Outputs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--channels", settings.channels, "Of the input image")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--size", settings.size, "Height and width of the input image")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--seed", settings.seed, "Of the fresh weights")->type_name("N");
  command->callback([options, &action] {
    action = [options] {
      write_zoo(options->settings, options->out);
      say(false,
          fmt::format(
              "wrote {} ({})", options->out.string(),
              Bytes(static_cast<std::int64_t>(std::filesystem::file_size(options->out))).str()));
      return 0;
    };
  });
}

}  // namespace lowtide::cli
