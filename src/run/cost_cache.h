// CostCache: seconds that kernels were measured to take, kept in a file between runs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace lowtide::run {

// From what identifies a kernel, its shapes and the machine to seconds.
using KernelSeconds = std::map<std::string, double>;

// A file of kernel times, an entry a line, the newest first. It is read and written as a stream:
// what it takes of memory is what is asked for, however much the file holds. The file is a help and
// never a need: where it is missing, cut short, foreign or hostile, that part of it is empty.
class CostCache {
 public:
  // An empty path: nothing is kept.
  explicit CostCache(std::filesystem::path path) : path_(std::move(path)) {}

  // The times of those of the keys that the file has.
  [[nodiscard]] KernelSeconds find(const std::set<std::string>& keys) const;
  // Replaces the file by one that begins with these times and goes on with the file's others as far
  // as 8 MiB reach; of several processes that do so at once each leaves a whole file. False, with
  // nothing changed, where it cannot be written.
  [[nodiscard]] bool add(const KernelSeconds& times) const;

 private:
  std::filesystem::path path_;
};

}  // namespace lowtide::run
