// Zip archives: the table of contents, and members as readable stretches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/bytes.h"

#include "core/file.h"
#include "data/format/byte_source.h"

namespace lowtide::data {

// One file in an archive, as the central directory describes it.
struct ZipMember {
  std::string name;  // a key, never a path to open
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t checksum = 0;
  Bytes packed_size;
  Bytes size;
  Bytes header;  // where its local header begins
  Bytes begin;   // where its bytes begin
};

// An immutable table of contents over an open file. Sizes and offsets come from the central
// directory (zip64 included) and are checked: every member lies inside the archive and none
// overlaps another.
class ZipArchive {
 public:
  // Throws Error(kInvalidFile) when the file is not an archive or its directory is inconsistent.
  explicit ZipArchive(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return file_->name(); }
  [[nodiscard]] std::span<const ZipMember> members() const { return members_; }

  // A stored member stays in place; a deflated one is unpacked (`directory` as in Unpacking).
  // Either is read once and held to its checksum here: reads at random places later cannot do that.
  // Throws Error(kInvalidFile) where it differs, Error(kUnsupported) for encryption and other
  // methods.
  [[nodiscard]] ByteSource open(const ZipMember& member,
                                const std::filesystem::path& directory) const;

 private:
  std::shared_ptr<const core::File> file_;
  std::vector<ZipMember> members_;
};

}  // namespace lowtide::data
