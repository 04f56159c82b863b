#include "onnx/bytes/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// A descriptor that is closed when it is dropped.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}

  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] int release() { return std::exchange(value_, -1); }

  void reset(int value) {
    if (value_ >= 0) ::close(value_);
    value_ = value;
  }

 private:
  int value_;
};

// The components of a location, without "." and empty ones.
std::vector<std::string> components(const std::string& location) {
  const auto refuse = [&](const char* why) {
    return fail(ErrorCode::kInvalidFile, "external data '{}' refused: {}", location, why);
  };
  if (location.empty()) throw refuse("the location is empty");
  if (location.front() == '/') throw refuse("the location is absolute");
  if (location.find('\0') != std::string::npos) throw refuse("the location holds a NUL");
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : std::filesystem::path(location)) {
    if (part == "..") throw refuse("the location leaves the model's folder");
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  if (parts.empty() || location.back() == '/') throw refuse("the location names no file");
  return parts;
}

}  // namespace

InputFile::InputFile(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw fail(ErrorCode::kIo, "{}: not a regular file", path_);
  }
  size_ = status.st_size;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile InputFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe must not block the open; regular files ignore it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    throw fail(ErrorCode::kIo, "{}: cannot open: {}", path.string(), reason(errno));
  }
  return {descriptor, path.string()};
}

InputFile InputFile::open_external(const std::filesystem::path& folder,
                                   const std::string& location) {
  const std::vector<std::string> parts = components(location);
  const std::filesystem::path root = folder.empty() ? "." : folder;
  std::filesystem::path path = folder;
  Descriptor at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i < parts.size() && at.get() >= 0; ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at.reset(::openat(at.get(), parts[i].c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    path /= parts[i];
  }
  if (at.get() < 0) {
    // O_NOFOLLOW says ELOOP for a link to a file and ENOTDIR for one in place of a folder.
    const int error = errno;
    const bool link = error == ELOOP || error == ENOTDIR;
    throw fail(link ? ErrorCode::kInvalidFile : ErrorCode::kIo, "external data '{}' {}: {}",
               location, link ? "refused" : "cannot be opened",
               link ? "a link or no folder on the way" : reason(error));
  }
  struct stat status {};
  if (::fstat(at.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1) {
    throw fail(ErrorCode::kInvalidFile,
               "external data '{}' refused: not a regular file with one name (hard link)",
               location);
  }
  return {at.release(), path.string()};
}

void InputFile::read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ::ssize_t got = ::pread(descriptor_, to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw fail(ErrorCode::kIo, "{}: cannot read {} bytes at {}: {}", path_, to.size(), offset,
                 got < 0 ? reason(errno) : "end of file");
    }
    to = to.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

MappedFile::MappedFile(const InputFile& file) {
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return;
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) {
    throw fail(ErrorCode::kIo, "{}: cannot map: {}", file.path(), reason(errno));
  }
  // Without read-ahead, the pages of the weights in between stay out of memory.
  static_cast<void>(::madvise(address, size, MADV_RANDOM));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    // munmap takes the address it gave; the mapping was never written through this pointer.
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT
  }
}

void MappedFile::passed(std::size_t position) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
  if (position < passed_ + kAtOnce) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t size = (position - passed_) / page * page;
  // madvise takes the address as munmap does; the pages are those of the file and stay as they are.
  void* const address = const_cast<std::byte*>(bytes_.data() + passed_);  // NOLINT
  static_cast<void>(::madvise(address, size, MADV_DONTNEED));
  passed_ += size;
}

}  // namespace lowtide::onnx
