#include "memory/small_pages.h"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

namespace lowtide::memory {
namespace {

// What the first line of a mapping says.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool own = false;  // private, writable and backed by no file
};

// Nothing for the other lines.
std::optional<Mapping> read_mapping(const std::string& line) {
  Mapping mapping;
  std::array<char, 5> rights{};
  std::uint64_t inode = 0;
  const int read = std::sscanf(line.c_str(), "%lx-%lx %4s %*x %*s %lu", &mapping.begin,
                               &mapping.end, rights.data(), &inode);
  if (read != 4) return std::nullopt;
  mapping.own = inode == 0 && rights[1] == 'w' && rights[3] == 'p';
  return mapping;
}

}  // namespace

void keep_pages_small() {
  std::ifstream file("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(file, line);) {
    if (const std::optional<Mapping> next = read_mapping(line)) mapping = *next;
    if (!mapping.own || line.rfind("VmFlags:", 0) != 0) continue;
    const bool advised =
        line.find(" hg") != std::string::npos || line.find(" nh") != std::string::npos;
    if (advised) continue;
    static_cast<void>(::madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin,
                                MADV_NOHUGEPAGE));
  }
}

}  // namespace lowtide::memory
