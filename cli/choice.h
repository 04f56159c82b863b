// Options that choose among names. The type name lists them; validators would list them again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lowtide::cli {

// An option for one of several values, in the order of the help. What `value` holds by then is the
// usual one.
template <class E>
CLI::Option* add_choice(CLI::App& command,
                        const std::string& name,
                        E& value,
                        const std::vector<std::pair<std::string, E>>& choices,
                        const std::string& help) {
  std::vector<std::string> names;
  std::string usual;
  for (const auto& [word, choice] : choices) {
    names.push_back(word);
    if (choice == value) usual = word;
  }
  return command.add_option(name, value, help)
      ->transform(CLI::CheckedTransformer(choices).description(""))
      ->default_str(usual)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

// The same of names that are kept as they are.
inline CLI::Option* add_name(CLI::App& command,
                             const std::string& name,
                             std::string& value,
                             const std::vector<std::string>& choices,
                             const std::string& help) {
  return command.add_option(name, value, help)
      ->check(CLI::IsMember(choices).description(""))
      ->capture_default_str()
      ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

}  // namespace lowtide::cli
