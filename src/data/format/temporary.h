// TemporaryBytes: bytes written one after the other, then read at any position.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"
#include "data/format/byte_source.h"

namespace lowtide::data {

// A file without a name in `directory`; empty: /var/tmp, then /tmp.
core::File temporary_file(const std::filesystem::path& directory);

class TemporaryBytes {
 public:
  explicit TemporaryBytes(const std::filesystem::path& directory);

  // Throws Error(kIo) when the file cannot grow.
  void append(std::span<const std::byte> bytes);
  template <class T>
  void append(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }

  // All that was appended; nothing more may be. `name` is for messages.
  ByteSource finish(std::string name) &&;

 private:
  void flush();

  core::File file_;
  Bytes end_;
  std::vector<std::byte> buffer_;
};

}  // namespace lowtide::data
