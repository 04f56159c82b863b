// Limits that control groups (v1, v2, nested) put on this process.
#pragma once

#include <filesystem>
#include <optional>

#include "lowtide/bytes.h"

namespace lowtide::core {

// Reads the limits of the process's own control groups and all their ancestors, tightest wins.
// `root` stands for "/" so that tests can lay out a fake tree of proc/self/cgroup and
// sys/fs/cgroup.
struct CgroupLimits {
  std::optional<double> cpus;   // quota / period
  std::optional<Bytes> memory;  // memory.max or memory.limit_in_bytes
};

CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

}  // namespace lowtide::core
