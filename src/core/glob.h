// Globs over names: '*' stands for any characters (dots and slashes too), '?' for exactly one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lowtide::core {

bool glob_matches(std::string_view glob, std::string_view name);
bool any_glob_matches(const std::vector<std::string>& globs, std::string_view name);

}  // namespace lowtide::core
