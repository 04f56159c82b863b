#include "data/format/npz_writer.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/text.h"
#include "data/format/byte_source.h"
#include "data/format/endian.h"
#include "data/format/npy.h"

namespace lowtide::data {
namespace {

using Record = std::vector<std::byte>;

constexpr std::uint64_t kFull32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kFull16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint16_t kExtraZip64 = 1;
constexpr std::uint16_t kVersionZip64 = 45;
constexpr std::uint16_t kFlagUtf8 = 1U << 11U;
constexpr std::uint16_t kDate = 1U << 5U | 1U;  // 1 January 1980: equal arrays make equal files

template <class T>
void put(Record& record, std::uint64_t value) {
  append_little(record, static_cast<T>(value));
}

void put_text(Record& record, std::string_view text) {
  for (const char c : text) record.push_back(static_cast<std::byte>(c));
}

// What local and central headers share, from the version needed to the checksum.
void put_common(Record& record, std::uint32_t checksum) {
  put<std::uint16_t>(record, kVersionZip64);
  put<std::uint16_t>(record, kFlagUtf8);
  put<std::uint16_t>(record, 0);  // stored
  put<std::uint16_t>(record, 0);  // midnight
  put<std::uint16_t>(record, kDate);
  put<std::uint32_t>(record, checksum);
}

}  // namespace

NpzWriter::NpzWriter(const std::filesystem::path& path) : file_(core::File::create(path)) {}

void NpzWriter::add(std::string_view name,
                    core::DType dtype,
                    const core::Shape& shape,
                    std::span<const std::byte> bytes) {
  LT_CHECK(Bytes(static_cast<std::int64_t>(bytes.size())) ==
               shape.elements() * core::element_bytes(dtype),
           "the bytes are those of the shape");
  std::string file_name = core::text("{}.npy", name);
  if (!names_.insert(file_name).second) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: two arrays named '{}'", file_.name(), name);
  }
  if (file_name.size() > kFull16) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: an array name of {} bytes", file_.name(),
                     name.size());
  }
  const Record start = npy_header(dtype, shape);
  const std::uint64_t size = start.size() + bytes.size();
  const std::uint32_t checksum = crc32(crc32(0, start), bytes);
  members_.push_back(
      {std::move(file_name), checksum, size, static_cast<std::uint64_t>(end_.count())});

  const Member& member = members_.back();
  const bool large = size >= kFull32;
  Record header;
  put_text(header, "PK\3\4");
  put_common(header, checksum);
  put<std::uint32_t>(header, large ? kFull32 : size);
  put<std::uint32_t>(header, large ? kFull32 : size);
  put<std::uint16_t>(header, member.name.size());
  put<std::uint16_t>(header, large ? 20 : 0);
  put_text(header, member.name);
  if (large) {
    put<std::uint16_t>(header, kExtraZip64);
    put<std::uint16_t>(header, 16);
    put<std::uint64_t>(header, size);
    put<std::uint64_t>(header, size);
  }
  header.insert(header.end(), start.begin(), start.end());
  append(header);
  append(bytes);
}

void NpzWriter::finish() {
  const auto directory = static_cast<std::uint64_t>(end_.count());
  for (const Member& member : members_) append(central_record(member));
  append(end_record(directory));
}

std::vector<std::byte> NpzWriter::central_record(const Member& member) {
  Record extra;
  if (member.size >= kFull32) {
    put<std::uint64_t>(extra, member.size);
    put<std::uint64_t>(extra, member.size);
  }
  if (member.header >= kFull32) put<std::uint64_t>(extra, member.header);

  Record record;
  put_text(record, "PK\1\2");
  put<std::uint16_t>(record, kVersionZip64);
  put_common(record, member.checksum);
  put<std::uint32_t>(record, std::min(member.size, kFull32));
  put<std::uint32_t>(record, std::min(member.size, kFull32));
  put<std::uint16_t>(record, member.name.size());
  put<std::uint16_t>(record, extra.empty() ? 0 : extra.size() + 4);
  put<std::uint16_t>(record, 0);  // comment
  put<std::uint16_t>(record, 0);  // disk
  put<std::uint16_t>(record, 0);  // internal attributes
  put<std::uint32_t>(record, 0);  // external attributes
  put<std::uint32_t>(record, std::min(member.header, kFull32));
  put_text(record, member.name);
  if (!extra.empty()) {
    put<std::uint16_t>(record, kExtraZip64);
    put<std::uint16_t>(record, extra.size());
    record.insert(record.end(), extra.begin(), extra.end());
  }
  return record;
}

// For a central directory that reaches from `directory` to the present end.
std::vector<std::byte> NpzWriter::end_record(std::uint64_t directory) const {
  const auto end = static_cast<std::uint64_t>(end_.count());
  const std::uint64_t size = end - directory;
  const std::uint64_t count = members_.size();
  Record record;
  if (count >= kFull16 || directory >= kFull32 || size >= kFull32) {
    put_text(record, "PK\6\6");
    put<std::uint64_t>(record, 44);  // bytes that follow in this record
    put<std::uint16_t>(record, kVersionZip64);
    put<std::uint16_t>(record, kVersionZip64);
    put<std::uint64_t>(record, 0);  // disks
    put<std::uint64_t>(record, count);
    put<std::uint64_t>(record, count);
    put<std::uint64_t>(record, size);
    put<std::uint64_t>(record, directory);
    put_text(record, "PK\6\7");
    put<std::uint32_t>(record, 0);
    put<std::uint64_t>(record, end);
    put<std::uint32_t>(record, 1);
  }
  put_text(record, "PK\5\6");
  put<std::uint32_t>(record, 0);  // disks
  put<std::uint16_t>(record, std::min(count, kFull16));
  put<std::uint16_t>(record, std::min(count, kFull16));
  put<std::uint32_t>(record, std::min(size, kFull32));
  put<std::uint32_t>(record, std::min(directory, kFull32));
  put<std::uint16_t>(record, 0);
  return record;
}

void NpzWriter::append(std::span<const std::byte> bytes) {
  file_.write_at(end_, bytes);
  end_ += Bytes(static_cast<std::int64_t>(bytes.size()));
}

}  // namespace lowtide::data
