#include "core/glob.h"

#include <algorithm>

namespace lowtide::core {

bool glob_matches(std::string_view glob, std::string_view name) {
  // Greedy matching with one backtrack point, linear in practice and O(n m) at worst.
  std::size_t g = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(glob.begin() + static_cast<std::ptrdiff_t>(g), glob.end(),
                     [](char c) { return c == '*'; });
}

bool any_glob_matches(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, name); });
}

}  // namespace lowtide::core
