#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/reference/reference.h"

namespace lowtide::cli {
namespace {

// Text that roff takes as it is: no escapes, hyphens that can be copied, no request at a line's
// start.
std::string plain(const std::string& text) {
  std::string safe = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if (c == '\n') {
      safe += ' ';
    } else {
      safe += c;
    }
  }
  return safe;
}

// Text that stands in a table's cell as it is.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string row(const OptionText& option) {
  std::string words = fmt::format("{}", fmt::join(option.names, ", "));
  if (!words.empty() && !option.type.empty()) words += ' ';
  words += option.type;
  // In code only the bar that would end the cell needs care.
  std::string code;
  for (const char c : words) code += c == '|' ? std::string("\\|") : std::string(1, c);
  const std::string usual = option.usual.empty() ? "" : fmt::format("`{}`", option.usual);
  return fmt::format("| `{}` | {} | {} |\n", code, cell(option.help), usual);
}

}  // namespace

std::string options_page(const std::vector<CommandText>& commands) {
  std::string text =
      "# Every option\n\n"
      "Written by `lowtide man --markdown` from the program itself; `lowtide COMMAND --help` tells "
      "the same. Options can also stand in a file: [configuration](configuration.md).\n";
  for (const CommandText& command : commands) {
    text += fmt::format("\n## lowtide {}\n\n{}.\n", command.name, command.help);
    std::vector<std::string> groups;
    for (const OptionText& option : command.options) {
      if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
        groups.push_back(option.group);
      }
    }
    for (const std::string& group : groups) {
      text += fmt::format("\n| {} | | usual |\n|---|---|---|\n", group);
      for (const OptionText& option : command.options) {
        if (option.group == group) text += row(option);
      }
    }
  }
  return text;
}

std::string manual(const std::vector<CommandText>& commands, const std::string& version) {
  std::string text =
      fmt::format(".TH LOWTIDE 1 \"\" \"lowtide {}\" \"User Commands\"\n", plain(version));
  text +=
      ".SH NAME\nlowtide \\- trains and runs ONNX networks inside a number of bytes\n"
      ".SH SYNOPSIS\n.B lowtide\n.I COMMAND\n[options]\n"
      ".SH DESCRIPTION\n"
      "Plans the steps of training a neural network before the first one, and then keeps the whole "
      "process inside the number of bytes that the user names.\n"
      "A network is an ONNX file; the trained one is written as ONNX.\n"
      ".SH COMMANDS\n";
  for (const CommandText& command : commands) {
    text += fmt::format(".SS {}\n{}.\n", plain(command.name), plain(command.help));
    for (const OptionText& option : command.options) {
      std::vector<std::string> names;
      for (const std::string& name : option.names) {
        names.push_back(fmt::format("\\fB{}\\fR", plain(name)));
      }
      const std::string type =
          option.type.empty() ? "" : fmt::format("\\fI{}\\fR", plain(option.type));
      const std::string usual =
          option.usual.empty() ? "" : fmt::format(" [{}]", plain(option.usual));
      text +=
          fmt::format(".TP\n{}{}{}\n{}{}\n", fmt::join(names, ", "),
                      names.empty() || type.empty() ? "" : " ", type, plain(option.help), usual);
    }
  }
  text +=
      ".SH EXIT STATUS\n"
      "0: done. 1: the request cannot be met; one message names the file, the node or the value. "
      "2: wrong usage. 130: interrupted.\n";
  return text;
}

}  // namespace lowtide::cli
