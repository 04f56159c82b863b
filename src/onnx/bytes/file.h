// Files as the ONNX reader sees them: an owned descriptor, a read-only mapping, and the only way
// to open external data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace lowtide::onnx {

// An open regular file, read at given places.
class InputFile {
 public:
  // Throws Error(kIo) where it cannot be opened or is no regular file.
  static InputFile open(const std::filesystem::path& path);

  // Opens external data: `location` as the model names it, under `folder`. Throws
  // Error(kInvalidFile) for absolute paths and "..", for symbolic links anywhere on the way, for
  // anything but a regular file with one name; Error(kIo) where it is not there.
  static InputFile open_external(const std::filesystem::path& folder, const std::string& location);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Fills `to` from `offset` on; throws Error(kIo).
  void read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  InputFile(int descriptor, std::string path);

  int descriptor_;
  std::string path_;
  std::int64_t size_ = 0;
};

// A whole file mapped read-only for as long as this lives. Only pages that are looked at, and some
// around them, become resident. A file that another process cuts meanwhile ends this one (SIGBUS),
// as for any mapping.
class MappedFile {
 public:
  explicit MappedFile(const InputFile& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  // What lies before `position` has been looked at: its pages go back to the system, a MiB and more
  // at a time. Those looked at again are read again. Positions that go back have no effect.
  void passed(std::size_t position);

 private:
  std::span<const std::byte> bytes_;
  std::size_t passed_ = 0;  // a whole number of pages
};

}  // namespace lowtide::onnx
