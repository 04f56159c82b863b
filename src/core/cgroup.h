// Limits that control groups (v1, v2, nested) and its affinity put on this process.
#pragma once

#include <filesystem>
#include <optional>

#include "lowtide/bytes.h"

namespace lowtide::core {

// Reads the limits of the process's own control groups and all their ancestors, tightest wins.
// `root` stands for "/" so that tests can lay out a fake tree of proc/self/cgroup and
// sys/fs/cgroup.
struct CgroupLimits {
  std::optional<double> cpus;         // quota / period
  std::optional<Bytes> memory;        // memory.max, memory.high, memory.limit_in_bytes
  std::filesystem::path cpus_from;    // the file that says so
  std::filesystem::path memory_from;  // likewise
};

CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

// CPUs in the affinity mask.
int affinity_cpus();

}  // namespace lowtide::core
