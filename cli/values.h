// Values of options: names to choose among, and what numbers may be. Type names and help say it;
// validators do not say it again.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lowtide::cli {

inline std::string not_among(const std::vector<std::string>& names, const std::string& word) {
  return fmt::format("must be one of {}, not '{}'", fmt::join(names, ", "), word);
}

// An option for one of several values, in the order of the help. What `value` (an E, or an optional
// one) holds by then is the usual one.
template <class E, class Value>
CLI::Option* add_choice(CLI::App& command,
                        const std::string& name,
                        Value& value,
                        const std::vector<std::pair<std::string, E>>& choices,
                        const std::string& help) {
  std::vector<std::string> names;
  std::string usual;
  for (const auto& [word, choice] : choices) {
    names.push_back(word);
    if (choice == value) usual = word;
  }
  const auto to_number = [choices, names](std::string& word) {
    for (const auto& [known, choice] : choices) {
      if (known != word) continue;
      word = std::to_string(static_cast<int>(choice));
      return std::string();
    }
    return not_among(names, word);
  };
  return command.add_option(name, value, help)
      ->transform(CLI::Validator(to_number, ""))
      ->default_str(usual)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

// The same of names that are kept as they are.
inline CLI::Option* add_name(CLI::App& command,
                             const std::string& name,
                             std::string& value,
                             const std::vector<std::string>& choices,
                             const std::string& help) {
  const auto is_known = [choices](const std::string& word) {
    const bool known = std::find(choices.begin(), choices.end(), word) != choices.end();
    return known ? std::string() : not_among(choices, word);
  };
  return command.add_option(name, value, help)
      ->check(CLI::Validator(is_known, ""))
      ->capture_default_str()
      ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

// What a finite number must be besides, as "positive": fits(number).
template <class F>
CLI::Validator number_that(const std::string& what, F fits) {
  return CLI::Validator(
      [what, fits](const std::string& text) {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        const bool whole = !text.empty() && *end == '\0';
        return whole && std::isfinite(number) && fits(number)
                   ? std::string()
                   : fmt::format("must be {}, not '{}'", what, text);
      },
      "");
}

inline CLI::Validator positive() {
  return number_that("a positive number", [](double x) { return x > 0; });
}

inline CLI::Validator non_negative() {
  return number_that("a number and not negative", [](double x) { return x >= 0; });
}

inline CLI::Validator between(double least, double most) {
  return number_that(fmt::format("from {} to {}", least, most),
                     [=](double x) { return x >= least && x <= most; });
}

// Of seeds: the parser takes what is too large for the largest that there is.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) {
        std::uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, number);
        return error == std::errc() && stopped == end
                   ? std::string()
                   : fmt::format("must be a whole number of at most 64 bits, not '{}'", text);
      },
      "");
}

// An option that may be given several times, with one value each: what follows is no more of them.
inline CLI::Option* repeatable(CLI::Option* option) {
  return option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace lowtide::cli
