#include "conformance/survey.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "lowtide/error.h"

#include "conformance/compare.h"
#include "conformance/node_test.h"
#include "core/text.h"

namespace lowtide::conformance {
namespace {

constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};
constexpr core::Machine kReference{.threads = 1, .isa = core::Isa::kReference};

// What follows `before`, up to `after` or the end.
std::string word_after(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin + before.size())
                         .substr(0, text.find(after, begin) - begin - before.size()));
}

// Errors are for people; these are the ones that many tests share.
std::string reason_of(std::string_view error) {
  for (const std::string_view type : {"has type ", "element type ", "Cast to element type "}) {
    const std::string found = word_after(error, type, ";");
    if (!found.empty()) return core::text("type {}", found);
  }
  const std::string found = word_after(error, "unsupported operators: ", " (node");
  return found.empty() ? "form of a supported operator" : core::text("operator {}", found);
}

Outcome judge(const NodeTest& test) {
  const BoundTest bound = bind_test(test);
  for (const core::Machine& machine : {kNative, kReference}) {
    const std::string found = difference(run_test(test, bound, machine), test.outputs);
    if (!found.empty()) {
      return {Verdict::kDiffers, "another answer",
              core::text("{}: {}", core::name(machine.isa), found)};
    }
  }
  return {Verdict::kPassed, "", ""};
}

Outcome try_test(const std::filesystem::path& folder, const std::string& name) {
  try {
    return judge(load_test(folder, name));
  } catch (const Error& error) {
    return {Verdict::kRefused, reason_of(error.what()), error.what()};
  }
}

// Calls f for each line that is neither empty nor a comment.
template <class F>
void for_each_line(const std::filesystem::path& path, F&& f) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') f(line);
  }
}

}  // namespace

Survey survey(const std::filesystem::path& folder) {
  Survey result;
  for (const std::string& name : list_tests(folder)) result.emplace(name, try_test(folder, name));
  return result;
}

std::string summary(const Survey& survey) {
  std::map<std::string, int> counts;
  std::size_t skipped = 0;
  for (const auto& [name, outcome] : survey) {
    if (outcome.verdict == Verdict::kPassed) continue;
    ++skipped;
    ++counts[outcome.reason];
  }
  std::vector<std::pair<int, std::string>> reasons;
  for (const auto& [reason, count] : counts) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [count, reason] : reasons) parts.push_back(core::text("{} {}", count, reason));
  return core::text("passed {} of {}; skipped {}: {}", survey.size() - skipped, survey.size(),
                    skipped, fmt::join(parts, ", "));
}

Claims read_claims(const std::filesystem::path& folder) {
  Claims claims;
  for_each_line(folder / "claimed.txt",
                [&](const std::string& line) { claims.passing.insert(line); });
  for_each_line(folder / "differing.txt", [&](const std::string& line) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("no reason is given in: " + line);
    claims.differing.emplace(line.substr(0, colon), line.substr(colon + 2));
  });
  return claims;
}

}  // namespace lowtide::conformance
