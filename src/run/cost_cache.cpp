#include "run/cost_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"

namespace lowtide::run {
namespace {

using Json = nlohmann::json;  // not core::Json, whose look-ups take as long as there are keys

constexpr Bytes kMostBytes{64 * 1024 * 1024};
constexpr double kMostSeconds = 1e6;

std::map<std::string, double> read(const std::filesystem::path& path) {
  std::map<std::string, double> result;
  std::error_code missing;
  if (path.empty() || !std::filesystem::exists(path, missing)) return result;
  try {
    const core::File file = core::File::open(path);
    if (file.size() > kMostBytes) return result;
    std::string text(static_cast<std::size_t>(file.size().count()), '\0');
    file.read_at(Bytes(0), std::as_writable_bytes(std::span(text)));
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("format", Json()) != "lowtide costs" ||
        json.value("version", Json()) != 1 || !json.value("seconds", Json()).is_object()) {
      return result;
    }
    for (const auto& [key, value] : json.at("seconds").items()) {
      const double seconds = value.is_number() ? value.get<double>() : -1;
      if (std::isfinite(seconds) && seconds >= 0 && seconds <= kMostSeconds) result[key] = seconds;
    }
  } catch (const Error&) {  // unreadable: as if it were not there
    result.clear();
  } catch (const Json::exception&) {
    result.clear();
  }
  return result;
}

}  // namespace

CostCache::CostCache(std::filesystem::path path) : path_(std::move(path)), seconds_(read(path_)) {}

std::optional<double> CostCache::find(const std::string& key) const {
  const auto found = seconds_.find(key);
  return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

bool CostCache::save() const {
  if (path_.empty()) return true;
  std::map<std::string, double> all = read(path_);  // others may have added to it
  for (const auto& [key, seconds] : seconds_) all[key] = seconds;
  std::error_code error;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  std::string part = path_.string() + ".XXXXXX";  // its own for everyone who saves
  const int descriptor = ::mkstemp(part.data());
  if (descriptor < 0) return false;
  ::close(descriptor);
  std::ofstream file(part);
  file << "{\"format\":\"lowtide costs\",\"version\":1,\"seconds\":{";
  const char* separator = "\n";
  for (const auto& [key, seconds] : all) {
    file << separator << core::Json(key).dump() << ':' << core::text("{}", seconds);
    separator = ",\n";
  }
  file << "}}\n";
  file.close();
  if (file) std::filesystem::rename(part, path_, error);
  if (file && !error) return true;
  std::filesystem::remove(part, error);
  return false;
}

}  // namespace lowtide::run
