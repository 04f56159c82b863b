#include "data/format/zip.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/text.h"
#include "data/format/endian.h"

namespace lowtide::data {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kLocalSignature = 0x04034b50;

constexpr std::int64_t kEndBytes = 22;
constexpr std::int64_t kLongestComment = 65535;
constexpr std::int64_t kEnd64LocatorBytes = 20;
constexpr std::int64_t kEnd64Bytes = 56;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr Bytes kLargestDirectory = Bytes(16 << 20);

constexpr std::uint16_t kExtraZip64 = 1;
constexpr std::uint16_t kFlagEncrypted = 1;
constexpr std::uint16_t kMethodStored = 0;
constexpr std::uint16_t kMethodDeflated = 8;

template <class T>
T field(std::span<const std::byte> record, std::size_t at) {
  return load_little<T>(record.subspan(at, sizeof(T)));
}

Error invalid(const core::File& file, std::string_view what) {
  return core::fail(ErrorCode::kInvalidFile, "{}: {}", file.name(), what);
}

// 64-bit fields that no file can reach would turn negative.
Bytes checked_bytes(const core::File& file, std::uint64_t count) {
  if (count > std::uint64_t{1} << 60U) throw invalid(file, "zip archive with an impossible size");
  return Bytes(static_cast<std::int64_t>(count));
}

std::vector<std::byte> read(const core::File& file, Bytes offset, Bytes size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size.count()));
  file.read_at(offset, bytes);
  return bytes;
}

// Where the central directory lies.
struct Directory {
  Bytes offset;
  Bytes size;
  std::uint64_t entries = 0;
};

// The end record stands last, before a comment of any length up to 64 KiB.
std::pair<std::vector<std::byte>, Bytes> find_end_record(const core::File& file) {
  const Bytes size = file.size();
  const Bytes tail = std::min(size, Bytes(kEndBytes + kLongestComment));
  const std::vector<std::byte> bytes = read(file, size - tail, tail);
  for (std::int64_t at = tail.count() - kEndBytes; at >= 0; --at) {
    const auto record = std::span(bytes).subspan(static_cast<std::size_t>(at));
    if (field<std::uint32_t>(record, 0) != kEndSignature) continue;
    if (at + kEndBytes + field<std::uint16_t>(record, 20) != tail.count()) continue;
    return {{record.begin(), record.begin() + kEndBytes}, size - tail + Bytes(at)};
  }
  throw invalid(file, "not a zip archive, or cut short");
}

// Follows the locator in front of the end record, when there is one, to the 64-bit end record.
std::optional<Directory> find_directory64(const core::File& file, Bytes end) {
  if (end < Bytes(kEnd64LocatorBytes)) return std::nullopt;
  const auto locator = read(file, end - Bytes(kEnd64LocatorBytes), Bytes(kEnd64LocatorBytes));
  if (field<std::uint32_t>(locator, 0) != kEnd64LocatorSignature) return std::nullopt;
  const Bytes offset = checked_bytes(file, field<std::uint64_t>(locator, 8));
  if (offset + Bytes(kEnd64Bytes) > end - Bytes(kEnd64LocatorBytes)) {
    throw invalid(file, "zip64 end record outside the archive");
  }
  const auto record = read(file, offset, Bytes(kEnd64Bytes));
  if (field<std::uint32_t>(record, 0) != kEnd64Signature) {
    throw invalid(file, "zip64 end record is missing");
  }
  const Directory directory = {checked_bytes(file, field<std::uint64_t>(record, 48)),
                               checked_bytes(file, field<std::uint64_t>(record, 40)),
                               field<std::uint64_t>(record, 32)};
  if (directory.offset + directory.size > offset) {
    throw invalid(file, "central directory outside the archive");
  }
  return directory;
}

Directory find_directory(const core::File& file) {
  const auto [record, end] = find_end_record(file);
  std::optional<Directory> directory = find_directory64(file, end);
  if (!directory) {
    directory =
        Directory{Bytes(field<std::uint32_t>(record, 16)), Bytes(field<std::uint32_t>(record, 12)),
                  field<std::uint16_t>(record, 10)};
  }
  if (directory->offset + directory->size > end) {
    throw invalid(file, "central directory outside the archive");
  }
  if (directory->size > kLargestDirectory) throw invalid(file, "central directory is too large");
  return *directory;
}

// Fields of 32 bits that are full stand for 64-bit ones in the extra field, in a fixed order.
void apply_zip64(std::span<const std::byte> extra, ZipMember& member, const core::File& file) {
  constexpr Bytes kFull(std::numeric_limits<std::uint32_t>::max());
  while (extra.size() >= 4) {
    const auto id = field<std::uint16_t>(extra, 0);
    const std::size_t length = field<std::uint16_t>(extra, 2);
    if (length > extra.size() - 4) break;
    if (id == kExtraZip64) {
      std::span<const std::byte> values = extra.subspan(4, length);
      for (Bytes* value : {&member.size, &member.packed_size, &member.header}) {
        if (*value != kFull) continue;
        if (values.size() < 8) throw invalid(file, "zip64 field is cut short");
        *value = checked_bytes(file, field<std::uint64_t>(values, 0));
        values = values.subspan(8);
      }
      return;
    }
    extra = extra.subspan(4 + length);
  }
}

std::vector<ZipMember> read_directory(const core::File& file, const Directory& directory) {
  const std::vector<std::byte> bytes = read(file, directory.offset, directory.size);
  std::span<const std::byte> rest(bytes);
  std::vector<ZipMember> members;
  while (!rest.empty()) {
    if (rest.size() < kCentralBytes || field<std::uint32_t>(rest, 0) != kCentralSignature) {
      throw invalid(file, "malformed central directory");
    }
    const std::size_t name_length = field<std::uint16_t>(rest, 28);
    const std::size_t extra_length = field<std::uint16_t>(rest, 30);
    const std::size_t length =
        kCentralBytes + name_length + extra_length + field<std::uint16_t>(rest, 32);
    if (length > rest.size()) throw invalid(file, "malformed central directory");
    const auto* text = reinterpret_cast<const char*>(rest.data() + kCentralBytes);
    ZipMember member{.name = std::string(text, name_length),
                     .flags = field<std::uint16_t>(rest, 8),
                     .method = field<std::uint16_t>(rest, 10),
                     .checksum = field<std::uint32_t>(rest, 16),
                     .packed_size = Bytes(field<std::uint32_t>(rest, 20)),
                     .size = Bytes(field<std::uint32_t>(rest, 24)),
                     .header = Bytes(field<std::uint32_t>(rest, 42)),
                     .begin = Bytes(0)};
    apply_zip64(rest.subspan(kCentralBytes + name_length, extra_length), member, file);
    members.push_back(std::move(member));
    rest = rest.subspan(length);
  }
  if (members.size() != directory.entries) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: {} members where {} are declared", file.name(),
                     members.size(), directory.entries);
  }
  return members;
}

// Finds where each member's bytes begin and makes sure that members, in the order of their place,
// end before the next one and before `end`. Overlapping members are how small archives hold huge
// contents.
void locate(const core::File& file, Bytes end, std::vector<ZipMember>& members) {
  std::vector<ZipMember*> placed;
  for (ZipMember& member : members) placed.push_back(&member);
  std::ranges::sort(placed, std::ranges::less(), [](const ZipMember* m) { return m->header; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    ZipMember& member = *placed[i];
    const Bytes limit = i + 1 < placed.size() ? placed[i + 1]->header : end;
    const auto check = [&](bool holds, std::string_view what) {
      if (!holds) {
        throw core::fail(ErrorCode::kInvalidFile, "{}: member '{}' {}", file.name(), member.name,
                         what);
      }
    };
    member.begin = member.header + Bytes(static_cast<std::int64_t>(kLocalBytes));
    check(limit <= end && member.begin <= limit, "overlaps what follows it");
    std::array<std::byte, kLocalBytes> local = {};
    file.read_at(member.header, local);
    check(field<std::uint32_t>(local, 0) == kLocalSignature, "has no local header");
    member.begin += Bytes(field<std::uint16_t>(local, 26)) + Bytes(field<std::uint16_t>(local, 28));
    check(member.begin <= limit && member.packed_size <= limit - member.begin,
          "overlaps what follows it");
  }
}

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path)
    : file_(std::make_shared<const core::File>(core::File::open(path))) {
  const Directory directory = find_directory(*file_);
  members_ = read_directory(*file_, directory);
  locate(*file_, directory.offset, members_);
}

ByteSource ZipArchive::open(const ZipMember& member, const std::filesystem::path& directory) const {
  std::string full_name = core::text("{}: '{}'", name(), member.name);
  if ((member.flags & kFlagEncrypted) != 0) {
    throw core::fail(ErrorCode::kUnsupported, "{} is encrypted", full_name);
  }
  const ByteSource packed(file_, member.begin, member.packed_size, std::move(full_name));
  if (member.method == kMethodStored) {
    if (member.packed_size != member.size) {
      throw core::fail(ErrorCode::kInvalidFile, "{} is stored in {} bytes but declares {}",
                       packed.name(), member.packed_size.count(), member.size.count());
    }
    verify(packed, member.checksum);
    return packed;
  }
  if (member.method == kMethodDeflated) {
    return unpack(packed, {.packing = Packing::kDeflate,
                           .size = member.size,
                           .checksum = member.checksum,
                           .directory = directory});
  }
  throw core::fail(ErrorCode::kUnsupported,
                   "{} uses compression method {}; stored and deflated are supported",
                   packed.name(), member.method);
}

}  // namespace lowtide::data
