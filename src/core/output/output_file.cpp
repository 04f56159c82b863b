#include "core/output/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/text.h"

namespace lowtide::core {
namespace {

constexpr int kAttempts = 100;
constexpr std::string_view kSuffix = ".tmp";

Error cannot(const char* what, const std::filesystem::path& path) {
  return fail(ErrorCode::kIo, "{}: cannot {}: {}", path.string(), what,
              std::generic_category().message(errno));
}

// What the temporaries of `path` begin with; a process id, '-', a number and kSuffix follow.
std::string prefix_of(const std::filesystem::path& path) {
  return text(".{}.", path.filename().string());
}

bool is_temporary_of(const std::filesystem::path& path, const std::string& name) {
  const std::string prefix = prefix_of(path);
  if (name.size() <= prefix.size() + kSuffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(kSuffix)) {
    return false;
  }
  const std::string_view between =
      std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - kSuffix.size());
  return std::count(between.begin(), between.end(), '-') == 1 &&
         std::all_of(between.begin(), between.end(),
                     [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

template <class Call>
int retrying(Call call) {
  while (true) {
    const int result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Makes renames in a folder last through a power cut; false, with the reason in errno, where the
// disk fails. Not all file systems can, and not every folder may be read: then renames still hold
// while the system runs.
bool sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return true;
  const bool done = retrying([&] { return ::fsync(descriptor); }) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return done || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EROFS;
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path) {
  if (!path.has_filename()) throw fail(ErrorCode::kIo, "'{}' names no file", path.string());
  for (int i = 0; i < kAttempts; ++i) {
    temporary_ =
        (folder_of(path) / text("{}{}-{}{}", prefix_of(path), ::getpid(), i, kSuffix)).string();
    descriptor_ = retrying([&] {
      return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    });
    if (descriptor_ >= 0) {
      // Held until it is in place or this process is gone: so remove_stale_outputs() knows.
      static_cast<void>(::flock(descriptor_, LOCK_EX | LOCK_NB));
      return;
    }
    if (errno != EEXIST) break;
  }
  throw cannot("create", path_);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  synced_ = false;
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot("write", path_);
    if (written == 0)
      throw fail(ErrorCode::kIo, "{}: cannot write: nothing is taken", path_.string());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::sync() {
  if (synced_) return;
  if (retrying([&] { return ::fsync(descriptor_); }) != 0) throw cannot("write", path_);
  synced_ = true;
}

void OutputFile::commit() {
  sync();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw cannot("replace", path_);
  ::close(std::exchange(descriptor_, -1));
  if (!sync_folder(folder_of(path_))) throw cannot("make sure that it stays in its folder", path_);
}

void remove_stale_outputs(const std::filesystem::path& path) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path), ignored)) {
    if (!is_temporary_of(path, entry.path().filename().string())) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

}  // namespace lowtide::core
