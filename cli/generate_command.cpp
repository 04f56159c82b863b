// lowtide generate: a network of tokens writes on.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/error.h"
#include "lowtide/infer.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/values.h"

namespace lowtide::cli {
namespace {

struct Options {
  GenerateSettings settings;
  RawModel model;
  std::string prompt = "\n";
  std::vector<std::int64_t> prompt_tokens;
  bool json = false;
};

// What is shown of a token: its byte, or its number.
std::string shown(std::int64_t token, bool bytes) {
  if (!bytes) return fmt::format(" {}", token);
  if (token < 256) return std::string(1, static_cast<char>(token));
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("token {} is no byte: give the prompt as --prompt-tokens", token));
}

int generate(const std::shared_ptr<Options>& options) {
  GenerateSettings& settings = options->settings;
  finish(options->model, settings.model);
  const bool bytes = options->prompt_tokens.empty();
  settings.prompt = options->prompt_tokens;
  if (bytes) {
    for (const char c : options->prompt) settings.prompt.push_back(static_cast<unsigned char>(c));
  }
  std::FILE* const stream = options->json ? stderr : stdout;
  std::string text;
  std::vector<std::int64_t> tokens;
  const auto show = [&](const std::string& part) {
    std::fwrite(part.data(), 1, part.size(), stream);
    std::fflush(stream);
  };
  std::string prompt;
  for (const std::int64_t token : settings.prompt) prompt += shown(token, bytes);
  // A number as such, as JSON and in the text of that; the text of bytes twice, one of them
  // growing.
  constexpr Bytes kPerTokenInJson{96};
  if (options->json) settings.kept_per_token = kPerTokenInJson;
  bool begun = false;
  generate_tokens(settings, [&](std::int64_t token) {
    if (!begun) show(prompt);
    begun = true;
    const std::string part = shown(token, bytes);
    show(part);
    if (!options->json) return;
    if (bytes) text += part;
    tokens.push_back(token);
  });
  show("\n");
  if (options->json) {
    nlohmann::json json = {{"prompt", settings.prompt}, {"tokens", tokens}};
    if (bytes) json["text"] = text;
    print_json(json);
  }
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  GenerateSettings& settings = options->settings;
  CLI::App* const command =
      app.add_subcommand("generate", "Let a network that predicts tokens write on");
  add_model(*command, settings.model, options->model);
  CLI::Option* const prompt =
      command
          ->add_option("--prompt", options->prompt,
                       "What it goes on from; tokens are bytes. Default: the end of a line")
          ->type_name("TEXT");
  command
      ->add_option("--prompt-tokens", options->prompt_tokens,
                   "The same as numbers, for other tokens; numbers are printed then")
      ->delimiter(',')
      ->excludes(prompt)
      ->check(non_negative())
      ->type_name("N,N,...");
  command->add_option("--tokens", settings.tokens, "How many to write")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("N");
  command
      ->add_option("--temperature", settings.temperature,
                   "Below 1 likely tokens become likelier; 0: always the likeliest")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  command->add_option("--top-k", settings.top_k, "Choose among the K likeliest; 0: among all")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("K");
  command->add_option("--seed", settings.seed, "Of the choices")
      ->capture_default_str()
      ->check(whole_number())
      ->type_name("N");
  add_budget(*command, settings.memory);
  add_machine(*command, settings.machine);
  command->add_flag("--json", options->json,
                    "Print one JSON object to standard output, the text to standard error");
  command->callback([options, &action] { action = [options] { return generate(options); }; });
}

}  // namespace lowtide::cli
