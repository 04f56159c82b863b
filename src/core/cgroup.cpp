#include "core/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace lowtide::core {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

template <class T>
void keep_least(std::optional<T>& least, T candidate) {
  least = least ? std::min(*least, candidate) : candidate;
}

void read_quota(double quota, double period, CgroupLimits& limits) {
  if (quota > 0 && period > 0) keep_least(limits.cpus, quota / period);
}

void read_bytes(const std::string& line, CgroupLimits& limits) {
  std::int64_t bytes = 0;
  // Unlimited is "max" in v2 and a number near 2^63 in v1.
  if (std::istringstream(line) >> bytes && bytes > 0 && bytes < (std::int64_t{1} << 60)) {
    keep_least(limits.memory, Bytes(bytes));
  }
}

void read_v2(const fs::path& group, CgroupLimits& limits) {
  double quota = 0;
  double period = 0;
  if (std::istringstream(first_line(group / "cpu.max")) >> quota >> period) {
    read_quota(quota, period, limits);
  }
  read_bytes(first_line(group / "memory.max"), limits);
}

void read_v1_cpu(const fs::path& group, CgroupLimits& limits) {
  double quota = 0;
  double period = 0;
  if (std::istringstream(first_line(group / "cpu.cfs_quota_us")) >> quota &&
      std::istringstream(first_line(group / "cpu.cfs_period_us")) >> period) {
    read_quota(quota, period, limits);
  }
}

// Calls read on `mount/path` and each of its ancestors down to `mount`. In a container the path
// may not exist below the mount; the walk then still ends at the mount itself.
template <class F>
void walk_up(const fs::path& mount, const std::string& path, F&& read) {
  for (fs::path relative = fs::path(path).relative_path(); !relative.empty();
       relative = relative.parent_path()) {
    read(mount / relative);
  }
  read(mount);
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      for (const fs::path& base : {mount, mount / "unified"}) {
        walk_up(base, path, [&](const fs::path& group) { read_v2(group, limits); });
      }
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      for (const char* name : {"cpu", "cpu,cpuacct"}) {
        walk_up(mount / name, path, [&](const fs::path& group) { read_v1_cpu(group, limits); });
      }
    }
    if (controllers.find(",memory,") != std::string::npos) {
      walk_up(mount / "memory", path, [&](const fs::path& group) {
        read_bytes(first_line(group / "memory.limit_in_bytes"), limits);
      });
    }
  }
  return limits;
}

}  // namespace lowtide::core
