#include "memory/resident.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/cgroup.h"
#include "core/text.h"

namespace lowtide::memory {
namespace {

using Text = std::array<char, 8192>;

// As much of the file as fits, without a heap buffer; empty when it cannot be read.
std::string_view read_text(const char* path, Text& buffer) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t count = ::read(descriptor, buffer.data() + length, buffer.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  ::close(descriptor);
  return {buffer.data(), length};
}

// The number on the line "key:   123 kB".
Bytes kibibytes_of(const char* path, std::string_view key) {
  Text buffer;
  const std::string_view text = read_text(path, buffer);
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = text.find('\n', line);
    const std::string_view entry = text.substr(line, end - line);
    if (entry.starts_with(key)) {
      const std::size_t digits = entry.find_first_of("0123456789", key.size());
      std::int64_t count = 0;
      if (digits != std::string_view::npos &&
          std::from_chars(entry.data() + digits, entry.data() + entry.size(), count).ec ==
              std::errc()) {
        return Bytes(count * 1024);
      }
    }
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  throw core::fail(ErrorCode::kIo, "{} does not tell {}", path, key);
}

}  // namespace

Bytes resident_bytes() { return kibibytes_of("/proc/self/status", "VmRSS:"); }

Bytes peak_resident_bytes() { return kibibytes_of("/proc/self/status", "VmHWM:"); }

Bytes available_bytes() { return kibibytes_of("/proc/meminfo", "MemAvailable:"); }

Bytes memory_limit() {
  const core::CgroupLimits limits = core::read_cgroup_limits();
  return limits.memory ? *limits.memory : available_bytes();
}

}  // namespace lowtide::memory
