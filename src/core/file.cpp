#include "core/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/text.h"

namespace lowtide::core {
namespace {

Error system_error(const char* action, const std::string& name) {
  return fail(ErrorCode::kIo, "cannot {} {}: {}", action, name,
              std::generic_category().message(errno));
}

int open_retrying(const char* path, int flags) {
  while (true) {
    const int descriptor = ::open(path, flags | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
  }
}

// For file systems that do not know O_TMPFILE.
int open_unlinked(const std::filesystem::path& directory) {
  std::string path = (directory / "lowtide-XXXXXX").string();
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(path.c_str());
  return descriptor;
}

}  // namespace

File File::open(const std::filesystem::path& path) {
  // Opening a pipe would otherwise wait for a writer.
  const int descriptor = open_retrying(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (descriptor < 0) throw system_error("open", path.string());
  File file(descriptor, path.string());
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) throw system_error("examine", file.name_);
  // Directories open, and pipes and devices do not know positions.
  if (!S_ISREG(status.st_mode)) {
    throw fail(ErrorCode::kIo, "cannot read {}: not a regular file", file.name_);
  }
  return file;
}

File File::create(const std::filesystem::path& path) {
  const int descriptor = open_retrying(path.c_str(), O_RDWR | O_CREAT | O_TRUNC);
  if (descriptor < 0) throw system_error("create", path.string());
  return File(descriptor, path.string());
}

File File::temporary(const std::filesystem::path& directory) {
  std::string name = text("temporary file in {}", directory.string());
  int descriptor = open_retrying(directory.c_str(), O_RDWR | O_TMPFILE | O_EXCL);
  if (descriptor < 0) descriptor = open_unlinked(directory);
  if (descriptor < 0) throw system_error("create", name);
  return File(descriptor, std::move(name));
}

File::File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Bytes File::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) throw system_error("examine", name_);
  return Bytes(status.st_size);
}

void File::read_at(Bytes offset, std::span<std::byte> out) const {
  std::int64_t position = offset.count();
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("read", name_);
    if (count == 0) {
      throw fail(ErrorCode::kInvalidFile, "{} ends at byte {}, {} bytes too early", name_, position,
                 out.size());
    }
    position += count;
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void File::write_at(Bytes offset, std::span<const std::byte> bytes) {
  std::int64_t position = offset.count();
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("write", name_);
    position += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace lowtide::core
