// Options from a file (--config), and the options in effect as such a file (--print-config).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lowtide::cli {

// Adds --config and --print-config to every command that has options worth keeping.
void add_config(CLI::App& app);

// Whether a parsed command is to print its options and no more.
bool prints_config(const CLI::App& command);

// The arguments (without the program's name) with those of the file that --config names before
// them. Keys are the long names of options; those above the first table are for any command, a
// table is for the command of its name. What the command line gives, or excludes, is left out.
// Throws Error naming the file, the line and the key of what the command does not have.
std::vector<std::string> with_config(CLI::App& app, const std::vector<std::string>& arguments);

// What the user wrote for each option, before it is turned into values. Must be made once all
// options are there, and live while they are parsed.
class Recorder {
 public:
  explicit Recorder(CLI::App& app);

  // The options of a parsed command, given or with their usual values, as a file for --config.
  [[nodiscard]] std::string toml(const CLI::App& command) const;

 private:
  void record(CLI::App& command);

  std::map<const CLI::Option*, std::vector<std::string>> given_;
};

// Every option of a command, those of its groups included, in the order of its help.
std::vector<CLI::Option*> options_of(CLI::App& command);
std::vector<const CLI::Option*> options_of(const CLI::App& command);
// "data" of --data; the name of a positional one.
std::string key_of(const CLI::Option& option);

}  // namespace lowtide::cli
