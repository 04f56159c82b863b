// File: an open file that is read and written by position; its errors name the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "lowtide/bytes.h"

namespace lowtide::core {

// Owns one descriptor (closed on exec). Reading and writing by position moves no shared cursor, so
// const calls may come from several threads at once. Every failure throws Error.
class File {
 public:
  // An existing file, for reading.
  static File open(const std::filesystem::path& path);

  // A new or emptied file, for reading and writing.
  static File create(const std::filesystem::path& path);

  // A file without a name inside `directory`, for reading and writing; its space is given back when
  // the File goes, however the process ends.
  static File temporary(const std::filesystem::path& directory);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  // The path, or "temporary file in DIR".
  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  [[nodiscard]] Bytes size() const;

  // Fills `out` from `offset` on; a file that ends before is an Error(kInvalidFile).
  void read_at(Bytes offset, std::span<std::byte> out) const;

  void write_at(Bytes offset, std::span<const std::byte> bytes);

 private:
  File(int descriptor, std::string name);

  int descriptor_ = -1;
  std::string name_;
};

}  // namespace lowtide::core
