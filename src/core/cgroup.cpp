#include "core/cgroup.h"

#include <sched.h>

#include <cstdint>
#include <fstream>
#include <istream>
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

void read_quota(double quota, double period, const fs::path& file, CgroupLimits& limits) {
  if (quota <= 0 || period <= 0 || (limits.cpus && *limits.cpus <= quota / period)) return;
  limits.cpus = quota / period;
  limits.cpus_from = file;
}

void read_bytes(std::istream& text, const fs::path& file, CgroupLimits& limits) {
  std::int64_t bytes = 0;
  // Unlimited is "max" in v2 and a number near 2^63 in v1.
  if (!(text >> bytes) || bytes <= 0 || bytes >= (std::int64_t{1} << 60)) return;
  if (limits.memory && limits.memory->count() <= bytes) return;
  limits.memory = Bytes(bytes);
  limits.memory_from = file;
}

void read_bytes(const fs::path& file, CgroupLimits& limits) {
  std::ifstream text(file);
  read_bytes(text, file, limits);
}

void read_v1_memory(const fs::path& group, CgroupLimits& limits) {
  read_bytes(group / "memory.limit_in_bytes", limits);
  // Counts ancestors that a container does not show.
  std::ifstream statistics(group / "memory.stat");
  for (std::string word; statistics >> word;) {
    if (word == "hierarchical_memory_limit") read_bytes(statistics, group / "memory.stat", limits);
  }
}

void read_v2(const fs::path& group, CgroupLimits& limits) {
  double quota = 0;
  double period = 0;
  if (std::istringstream(first_line(group / "cpu.max")) >> quota >> period) {
    read_quota(quota, period, group / "cpu.max", limits);
  }
  read_bytes(group / "memory.max", limits);
  // Nobody is ended for passing this one, but slowed down until next to nothing moves.
  read_bytes(group / "memory.high", limits);
}

void read_v1_cpu(const fs::path& group, CgroupLimits& limits) {
  double quota = 0;
  double period = 0;
  if (std::istringstream(first_line(group / "cpu.cfs_quota_us")) >> quota &&
      std::istringstream(first_line(group / "cpu.cfs_period_us")) >> period) {
    read_quota(quota, period, group / "cpu.cfs_quota_us", limits);
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
    const std::string mounted = line.substr(first + 1, second - first - 1);
    const std::string controllers = "," + mounted + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      for (const fs::path& base : {mount, mount / "unified"}) {
        walk_up(base, path, [&](const fs::path& group) { read_v2(group, limits); });
      }
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      for (const std::string& name : {std::string("cpu"), std::string("cpu,cpuacct"), mounted}) {
        walk_up(mount / name, path, [&](const fs::path& group) { read_v1_cpu(group, limits); });
      }
    }
    if (controllers.find(",memory,") != std::string::npos) {
      for (const std::string& name : {std::string("memory"), mounted}) {
        walk_up(mount / name, path, [&](const fs::path& group) { read_v1_memory(group, limits); });
      }
    }
  }
  return limits;
}

int affinity_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

}  // namespace lowtide::core
