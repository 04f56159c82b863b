// What is written from the program's own options: shell completion and the manual page.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lowtide::cli {

// One option as texts. Values are those that its type name lists, as in "sgd|adam|adamw".
struct OptionText {
  std::vector<std::string> names;   // with dashes; empty for a positional one
  std::string type;                 // "N", "FILE.toml", "sgd|adam|adamw"; empty for a flag
  std::vector<std::string> values;  // to choose from; empty: anything
  std::string help;
  std::string usual;  // value; empty: none, or a place on this machine
  std::string group;  // "Data"; empty: none
};

struct CommandText {
  std::string name;
  std::string help;
  std::vector<OptionText> options;
};

std::vector<CommandText> describe(const CLI::App& app);

std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
std::string fish_completion(const std::vector<CommandText>& commands);
// lowtide(1), for man(1).
std::string manual(const std::vector<CommandText>& commands, const std::string& version);
// The same in Markdown: docs/options.md.
std::string options_page(const std::vector<CommandText>& commands);

}  // namespace lowtide::cli
