// The part of TOML that a configuration of options needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lowtide::cli {

// `key = value` under the table `section`; values as text, one for anything but an array.
struct TomlEntry {
  std::string section;  // empty above the first [table]
  std::string key;
  std::vector<std::string> values;
  int line = 0;
};

// Tables of one level; strings in either quotes, numbers, true and false, and arrays of these, also
// over several lines. `name` is for messages. Throws Error(kInvalidFile) with the line of anything
// else, of a key or table that comes twice, and for texts of more than a mebibyte.
std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& name);

// Values as TOML writes them: numbers and truth bare, all else in quotes, several as an array.
std::string toml_value(const std::vector<std::string>& values);

}  // namespace lowtide::cli
