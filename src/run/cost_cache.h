// CostCache: seconds that kernels were measured to take, kept in a file between runs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lowtide::run {

// A table from what identifies a kernel, its shapes and the machine to seconds. The file is a help
// and never a need: where it is missing, cut short, foreign or hostile, the cache is empty.
class CostCache {
 public:
  // An empty path: nothing is kept.
  explicit CostCache(std::filesystem::path path);

  [[nodiscard]] std::optional<double> find(const std::string& key) const;
  void put(const std::string& key, double seconds) { seconds_[key] = seconds; }
  // Replaces the file by one that also holds what is new here; of several processes that do so at
  // once each leaves a whole file. False, with nothing changed, where the file cannot be written.
  bool save() const;

 private:
  std::filesystem::path path_;
  std::map<std::string, double> seconds_;
};

}  // namespace lowtide::run
