#include "run/cost_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"

namespace lowtide::run {
namespace {

using Json = nlohmann::json;

constexpr Bytes kMostBytes{8 * 1024 * 1024};
constexpr std::size_t kLongestLine = 4096;
constexpr double kMostSeconds = 1e6;
// Members in lines of their own, so that a line can be read without the others.
constexpr std::string_view kHead = R"({"format":"lowtide costs","version":1,"seconds":{)";
constexpr std::string_view kTail = "}}";

// Calls use(line) with every line of the file's first kMostBytes, without its end; longer ones than
// kLongestLine are left out. Throws Error where the file cannot be read.
template <class Use>
void for_lines(const std::filesystem::path& path, Use use) {
  const core::File file = core::File::open(path);
  const Bytes end = std::min(file.size(), kMostBytes);
  std::vector<char> chunk(64 * 1024);
  std::string line;
  for (Bytes at; at < end; at += Bytes(static_cast<std::int64_t>(chunk.size()))) {
    const Bytes left = end - at;
    if (left < Bytes(static_cast<std::int64_t>(chunk.size()))) {
      chunk.resize(static_cast<std::size_t>(left.count()));
    }
    file.read_at(at, std::as_writable_bytes(std::span(chunk)));
    for (const char c : chunk) {
      if (c != '\n') {
        if (line.size() <= kLongestLine) line += c;
        continue;
      }
      if (line.size() <= kLongestLine) use(std::string_view(line));
      line.clear();
    }
  }
  if (line.size() <= kLongestLine) use(std::string_view(line));
}

// Calls use(key, seconds) with the entries of the file as long as it is a cache.
template <class Use>
void for_entries(const std::filesystem::path& path, Use use) {
  std::error_code missing;
  if (path.empty() || !std::filesystem::exists(path, missing)) return;
  bool cache = false;
  try {
    for_lines(path, [&](std::string_view line) {
      cache |= line == kHead;
      if (!cache || line.empty() || line.front() != '"') return;
      const std::size_t end = line.find_last_not_of(",}") + 1;
      if (end == line.size()) return;  // cut short
      line = line.substr(0, end);
      const Json entry = Json::parse("{" + std::string(line) + "}", nullptr, false);
      if (!entry.is_object() || entry.size() != 1 || !entry.begin()->is_number()) return;
      const double seconds = entry.begin()->get<double>();
      if (seconds >= 0 && seconds <= kMostSeconds) use(entry.begin().key(), seconds);
    });
  } catch (const Error&) {  // unreadable: as if it were not there
  }
}

std::string entry_line(const std::string& key, double seconds) {
  return core::Json(key).dump() + ':' + core::text("{}", seconds);
}

}  // namespace

KernelSeconds CostCache::find(const std::set<std::string>& keys) const {
  KernelSeconds found;
  for_entries(path_, [&](const std::string& key, double seconds) {
    if (keys.count(key) != 0) found.emplace(key, seconds);
  });
  return found;
}

bool CostCache::add(const KernelSeconds& times) const {
  if (path_.empty()) return true;
  std::error_code error;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  std::string part = path_.string() + ".XXXXXX";  // its own for everyone who saves
  const int descriptor = ::mkstemp(part.data());
  if (descriptor < 0) return false;
  ::close(descriptor);
  std::ofstream file(part);
  file << kHead;
  Bytes size(static_cast<std::int64_t>(kHead.size()));
  const char* separator = "\n";
  const auto write = [&](const std::string& key, double seconds) {
    const std::string line = separator + entry_line(key, seconds);
    size += Bytes(static_cast<std::int64_t>(line.size()));
    if (size >= kMostBytes || line.size() > kLongestLine) return;
    file << line;
    separator = ",\n";
  };
  for (const auto& [key, seconds] : times) write(key, seconds);
  for_entries(path_, [&](const std::string& key, double seconds) {
    if (times.count(key) == 0) write(key, seconds);
  });
  file << kTail << '\n';
  file.close();
  if (file) std::filesystem::rename(part, path_, error);
  if (file && !error) return true;
  std::filesystem::remove(part, error);
  return false;
}

}  // namespace lowtide::run
