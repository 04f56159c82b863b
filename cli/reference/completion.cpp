#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/config/config.h"
#include "cli/reference/reference.h"

namespace lowtide::cli {
namespace {

// The choices of a type name like "a|b-c|d"; words in capitals are places for anything.
std::vector<std::string> choices(const std::string& type) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : type + "|") {
    if (c != '|') {
      word += c;
      continue;
    }
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
             letter == '-' || letter == '_';
    });
    if (plain) found.push_back(word);
    word.clear();
  }
  return type.find('|') == std::string::npos ? std::vector<std::string>() : found;
}

// The type name as the option was given it, without what validators add behind it.
std::string type_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string group_of(const CLI::App& command, const CLI::Option& option) {
  for (const CLI::App* const group :
       command.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    const std::vector<const CLI::Option*> inside = options_of(*group);
    if (std::find(inside.begin(), inside.end(), &option) != inside.end()) {
      return group->get_group();
    }
  }
  return {};
}

// Every name with its dashes, in one list.
std::vector<std::string> words_of(const CommandText& command) {
  std::vector<std::string> words;
  for (const OptionText& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

std::vector<CommandText> describe(const CLI::App& app) {
  std::vector<CommandText> commands;
  for (const CLI::App* const command :
       app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); })) {
    CommandText text{
        .name = command->get_name(), .help = command->get_description(), .options = {}};
    for (const CLI::Option* const option : options_of(*command)) {
      std::string group = group_of(*command, *option);
      if (!group.empty() && key_of(*option) == "help") continue;  // each group has one of its own
      OptionText entry{
          .names = {}, .type = type_of(*option), .values = {}, .help = option->get_description()};
      for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
      entry.values = choices(entry.type);
      if (!option->get_default_str().starts_with('/')) entry.usual = option->get_default_str();
      entry.group = std::move(group);
      text.options.push_back(std::move(entry));
    }
    commands.push_back(std::move(text));
  }
  return commands;
}

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string text =
      "# bash completion for lowtide: source it, or put it where bash-completion looks.\n"
      "_lowtide() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
      "  if ((COMP_CWORD == 1)); then\n";
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.name);
  text += fmt::format(
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n    return\n  fi\n",
      fmt::join(names, " "));
  text += "  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.values.empty() || option.names.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(fmt::format("'{} {}'", command.name, name));
      }
      text += fmt::format("    {}) words='{}' ;;\n", fmt::join(patterns, " | "),
                          fmt::join(option.values, " "));
    }
  }
  text +=
      "  esac\n"
      "  if [[ -n $words ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandText& command : commands) {
    text += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(words_of(command), " "));
  }
  text +=
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _lowtide lowtide\n";
  return text;
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string text =
      "#compdef lowtide\n"
      "# zsh completion for lowtide: save it as _lowtide in a folder of $fpath.\n"
      "_lowtide() {\n"
      "  local -a commands=(\n";
  for (const CommandText& command : commands) {
    text += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.help));
  }
  text +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const CommandText& command : commands) {
    text += fmt::format("    {})\n      _arguments '1:command:' \\\n", command.name);
    for (const OptionText& option : command.options) {
      const std::string place = option.type.empty() ? ""
                                : option.values.empty()
                                    ? fmt::format(":{}:_files", zsh_quoted(option.type))
                                    : fmt::format(":value:({})", fmt::join(option.values, " "));
      for (const std::string& name : option.names) {
        text += fmt::format("        '*{}[{}]{}' \\\n", name, zsh_quoted(option.help), place);
      }
    }
    text += "        '*:file:_files'\n      ;;\n";
  }
  text += "  esac\n}\n_lowtide \"$@\"\n";
  return text;
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string text = "# fish completion for lowtide: save it as completions/lowtide.fish.\n";
  for (const CommandText& command : commands) {
    text += fmt::format("complete -c lowtide -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command.name, fish_quoted(command.help));
  }
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.names.empty()) continue;
      text += fmt::format("complete -c lowtide -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.type.empty()) text += " -r";
      if (!option.values.empty()) {
        text += fmt::format(" -f -a '{}'", fmt::join(option.values, " "));
      }
      text += fmt::format(" -d '{}'\n", fish_quoted(option.help));
    }
  }
  return text;
}

}  // namespace lowtide::cli
