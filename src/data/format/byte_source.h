// ByteSource: a stretch of a file that can be read at any position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lowtide/bytes.h"

#include "core/file.h"

namespace lowtide::data {

// A value that shares its file with other stretches. Reading is const and may come from several
// threads at once.
class ByteSource {
 public:
  // The whole file at `path`.
  static ByteSource open(const std::filesystem::path& path);

  // `name` is what errors call the stretch. The stretch must lie inside the file.
  ByteSource(std::shared_ptr<const core::File> file, Bytes offset, Bytes size, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Bytes size() const { return size_; }

  // Fills `out` from `offset` on; Error(kInvalidFile) when the stretch ends before.
  void read_at(Bytes offset, std::span<std::byte> out) const;

  // The part [offset, offset + size) under the same name, which must lie inside.
  [[nodiscard]] ByteSource part(Bytes offset, Bytes size) const;

 private:
  std::shared_ptr<const core::File> file_;
  Bytes offset_;
  Bytes size_;
  std::string name_;
};

// How compressed bytes are framed.
enum class Packing { kDeflate, kGzip };

struct Unpacking {
  Packing packing = Packing::kGzip;
  // Declared by a container; what inflates is held to both.
  std::optional<Bytes> size;
  std::optional<std::uint32_t> checksum;  // CRC-32
  std::filesystem::path directory;        // for the temporary file; empty: /var/tmp, then /tmp
};

// Inflates `packed` once, through buffers of fixed size, into a temporary file without a name.
// Checksums are verified. Throws Error(kInvalidFile) for malformed bytes, and Error(kIo) naming the
// directory and the space needed when the temporary file cannot grow.
ByteSource unpack(const ByteSource& packed, const Unpacking& unpacking);

// Reads all of `source` once, through a buffer of fixed size. Throws Error(kInvalidFile) when its
// CRC-32 is not `checksum`.
void verify(const ByteSource& source, std::uint32_t checksum);

// The CRC-32 of zip and gzip: start with 0, continue with the last result.
std::uint32_t crc32(std::uint32_t checksum, std::span<const std::byte> bytes);

}  // namespace lowtide::data
