#include "cli/config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/error.h"

#include "cli/config/toml.h"

namespace lowtide::cli {
namespace {

constexpr const char* kConfig = "--config";
constexpr const char* kPrint = "--print-config";

template <class App, class Option>
void collect(App& command, std::vector<Option*>& found) {
  for (auto* const option : command.get_options()) {
    if (std::find(found.begin(), found.end(), option) == found.end()) found.push_back(option);
  }
  for (auto* const group :
       command.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    collect(*group, found);
  }
}

// A byte order mark, as editors on Windows put it in front, is none of the text.
std::string read_text(const std::string& path) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code ignored;
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::kIo, path + ": cannot be read");
  }
  std::string read = text.str();
  if (read.starts_with(kMark)) read.erase(0, kMark.size());
  return read;
}

// The file that --config names, or nothing.
std::string config_path(const std::vector<std::string>& arguments) {
  const std::string prefix = std::string(kConfig) + "=";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(prefix)) return arguments[i].substr(prefix.size());
    if (arguments[i] == kConfig && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return {};
}

bool names(const CLI::Option& option, const std::string& argument) {
  const std::string word = argument.substr(0, argument.find('='));
  const auto matches = [&](const std::string& dashes, const std::vector<std::string>& all) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& name) { return word == dashes + name; });
  };
  return matches("--", option.get_lnames()) || matches("-", option.get_snames());
}

// Whether the command line decides already: it gives the option, or one that excludes it.
bool decided(const CLI::Option& option, const std::vector<std::string>& arguments) {
  const std::set<CLI::Option*> excluded = option.get_excludes();
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return names(option, argument) ||
           std::any_of(excluded.begin(), excluded.end(),
                       [&](const CLI::Option* other) { return names(*other, argument); });
  });
}

// The words of a command line that belong to no option, the command's name aside.
std::vector<std::string> loose_words(CLI::App& command, const std::vector<std::string>& arguments) {
  const std::vector<CLI::Option*> options = options_of(command);
  std::vector<std::string> loose;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with("-") || word.size() == 1) {
      loose.push_back(word);
      continue;
    }
    const auto named = std::find_if(options.begin(), options.end(), [&](const CLI::Option* option) {
      return names(*option, word);
    });
    if (named == options.end() || word.find('=') != std::string::npos) continue;
    i += static_cast<std::size_t>((*named)->get_items_expected_min());
  }
  return loose;
}

CLI::Option* find(CLI::App& command, const std::string& key) {
  for (CLI::Option* const option : options_of(command)) {
    const std::vector<std::string>& all = option->get_lnames();
    if (key_of(*option) == key || std::find(all.begin(), all.end(), key) != all.end()) {
      return option;
    }
  }
  return nullptr;
}

// A flag may go by its negative name, as in no-shuffle = true.
void append(const CLI::Option& option, const TomlEntry& entry, std::vector<std::string>& words) {
  if (option.get_lnames().empty()) {
    words.insert(words.end(), entry.values.begin(), entry.values.end());
    return;
  }
  const std::string prefix = "--" + entry.key + "=";
  if (option.get_delimiter() != '\0') {
    words.push_back(prefix + fmt::format("{}", fmt::join(entry.values,
                                                         std::string(1, option.get_delimiter()))));
    return;
  }
  for (const std::string& value : entry.values) words.push_back(prefix + value);
}

CLI::App* find_command(CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands(
      [&](const CLI::App* command) { return !name.empty() && command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

bool is_kept(const CLI::Option& option) {
  const std::string key = key_of(option);
  return key != "help" && key != "config" && key != "print-config" && key != "json";
}

}  // namespace

std::vector<CLI::Option*> options_of(CLI::App& command) {
  std::vector<CLI::Option*> found;
  collect(command, found);
  return found;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> found;
  collect(command, found);
  return found;
}

std::string key_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  return option.get_single_name();
}

void add_config(CLI::App& app) {
  for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (options_of(*command).size() < 2) continue;
    command
        ->add_option(kConfig,
                     "Options from a TOML file, by their long names; the command line comes first")
        ->type_name("FILE.toml");
    command->add_flag(kPrint)->description(
        "Print the options in effect as such a file, and do nothing");
  }
}

bool prints_config(const CLI::App& command) {
  const CLI::Option* const option = command.get_option_no_throw(kPrint);
  return option != nullptr && option->count() > 0;
}

std::vector<std::string> with_config(CLI::App& app, const std::vector<std::string>& arguments) {
  CLI::App* const command = arguments.empty() ? nullptr : find_command(app, arguments.front());
  if (command == nullptr) return arguments;
  // The parser would look for ever at what it cannot place.
  const std::vector<std::string> loose = loose_words(*command, arguments);
  if (std::find(loose.begin(), loose.end(), "") != loose.end()) {
    throw CLI::ExtrasError({"''"});
  }
  const std::string path = config_path(arguments);
  if (path.empty()) return arguments;
  std::vector<std::string> words = {arguments.front()};
  std::set<const CLI::Option*> seen;
  for (TomlEntry& entry : parse_toml(read_text(path), path)) {
    std::replace(entry.key.begin(), entry.key.end(), '_', '-');
    const auto fail = [&](const std::string& what) {
      return Error(ErrorCode::kInvalidFile, fmt::format("{}: line {}: {}", path, entry.line, what));
    };
    if (!entry.section.empty() && find_command(app, entry.section) == nullptr) {
      throw fail(fmt::format("[{}] is no command", entry.section));
    }
    if (!entry.section.empty() && entry.section != command->get_name()) continue;
    const CLI::Option* const option = find(*command, entry.key);
    if (option == nullptr || !is_kept(*option)) {
      throw fail(fmt::format("{} has no option '{}'", command->get_name(), entry.key));
    }
    if (!seen.insert(option).second) throw fail(fmt::format("'{}' comes twice", entry.key));
    const bool given = option->get_lnames().empty() ? !loose_words(*command, arguments).empty()
                                                    : decided(*option, arguments);
    if (!given) append(*option, entry, words);
  }
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  return words;
}

Recorder::Recorder(CLI::App& app) {
  for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; })) {
    record(*command);
  }
}

// A transformation that changes nothing; it stands before all others, and sees what was written.
void Recorder::record(CLI::App& command) {
  for (CLI::Option* const option : options_of(command)) {
    if (!is_kept(*option)) continue;
    std::vector<std::string>& given = given_[option];
    option->transform(CLI::Validator(
        [&given](std::string& value) {
          given.push_back(value);
          return std::string();
        },
        ""));
  }
}

std::string Recorder::toml(const CLI::App& command) const {
  std::string text = fmt::format("# lowtide {} --config FILE\n", command.get_name());
  for (const CLI::Option* const option : options_of(command)) {
    const auto found = given_.find(option);
    if (found == given_.end()) continue;
    std::vector<std::string> values = found->second;
    if (values.empty() && !option->get_default_str().empty()) {
      values.push_back(option->get_default_str());
    }
    if (!values.empty()) text += fmt::format("{} = {}\n", key_of(*option), toml_value(values));
  }
  text.pop_back();
  return text;
}

}  // namespace lowtide::cli
