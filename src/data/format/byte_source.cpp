#include "data/format/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/text.h"
#include "data/format/endian.h"
#include "data/format/temporary.h"

namespace lowtide::data {
namespace {

constexpr std::size_t kPackedChunk = std::size_t{64} << 10U;
constexpr std::size_t kPlainChunk = std::size_t{256} << 10U;

// One deflate stream cannot make more than 1032 bytes of one; the slack covers tiny streams.
constexpr std::int64_t kMostExpansion = 1032;
constexpr std::int64_t kExpansionSlack = 64;

// Owns zlib's state for one stream.
class Inflater {
 public:
  Inflater(Packing packing, const std::string& name) {
    const int window = packing == Packing::kGzip ? MAX_WBITS + 16 : -MAX_WBITS;
    if (inflateInit2(&stream_, window) != Z_OK) {
      throw core::fail(ErrorCode::kIo, "{}: no memory to inflate", name);
    }
  }

  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  ~Inflater() { inflateEnd(&stream_); }

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
};

void hold_to(std::uint32_t declared, std::uint32_t found, const std::string& name) {
  if (found == declared) return;
  throw core::fail(ErrorCode::kInvalidFile, "{}: checksum is {:08x} instead of {:08x}", name, found,
                   declared);
}

// Inflates one source into one file.
class Unpacker {
 public:
  Unpacker(const ByteSource& packed, const Unpacking& unpacking)
      : packed_(packed),
        unpacking_(unpacking),
        inflater_(unpacking.packing, packed.name()),
        file_(temporary_file(unpacking.directory)),
        packed_chunk_(kPackedChunk),
        plain_chunk_(kPlainChunk) {}

  ByteSource run() {
    check_declared_size();
    bool more = true;
    while (more) {
      inflate_stream();
      more = unpacking_.packing == Packing::kGzip && another_stream_follows();
    }
    check_declared();
    return {std::make_shared<const core::File>(std::move(file_)), Bytes(0), written_,
            packed_.name()};
  }

 private:
  // A few bytes that declare a huge size are refused before anything is written.
  void check_declared_size() const {
    if (!unpacking_.size) return;
    const std::int64_t declared = unpacking_.size->count();
    if ((declared - kExpansionSlack) / kMostExpansion > packed_.size().count()) {
      throw core::fail(ErrorCode::kInvalidFile,
                       "{}: {} compressed bytes cannot hold the {} bytes they declare",
                       packed_.name(), packed_.size().count(), declared);
    }
  }

  void inflate_stream() {
    z_stream& stream = inflater_.stream();
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      if (stream.avail_in == 0 && !refill()) {
        throw core::fail(ErrorCode::kInvalidFile, "{}: compressed bytes end too early",
                         packed_.name());
      }
      stream.next_out = reinterpret_cast<Bytef*>(plain_chunk_.data());
      stream.avail_out = static_cast<uInt>(plain_chunk_.size());
      result = inflate(&stream, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) {
        throw core::fail(ErrorCode::kIo, "{}: no memory to inflate", packed_.name());
      }
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        throw core::fail(ErrorCode::kInvalidFile, "{}: damaged compressed bytes ({})",
                         packed_.name(), stream.msg != nullptr ? stream.msg : "preset dictionary");
      }
      write(std::span(plain_chunk_).first(plain_chunk_.size() - stream.avail_out));
    }
  }

  // gzip files may be concatenations, and may be padded with zeros.
  bool another_stream_follows() {
    z_stream& stream = inflater_.stream();
    while (stream.avail_in > 0 || refill()) {
      if (*stream.next_in != 0) return inflateReset(&stream) == Z_OK;
      ++stream.next_in;
      --stream.avail_in;
    }
    return false;
  }

  bool refill() {
    const std::int64_t left = (packed_.size() - consumed_).count();
    const auto count =
        static_cast<std::size_t>(std::min(left, static_cast<std::int64_t>(packed_chunk_.size())));
    if (count == 0) return false;
    packed_.read_at(consumed_, std::span(packed_chunk_).first(count));
    consumed_ += Bytes(static_cast<std::int64_t>(count));
    inflater_.stream().next_in = reinterpret_cast<Bytef*>(packed_chunk_.data());
    inflater_.stream().avail_in = static_cast<uInt>(count);
    return true;
  }

  void write(std::span<const std::byte> bytes) {
    const Bytes end = written_ + Bytes(static_cast<std::int64_t>(bytes.size()));
    if (unpacking_.size && end > *unpacking_.size) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: inflates to more than the {} bytes declared",
                       packed_.name(), unpacking_.size->count());
    }
    try {
      file_.write_at(written_, bytes);
    } catch (const Error& error) {
      throw error.within(
          core::text("{}: inflating needs {} of free space", packed_.name(), space_needed(end)));
    }
    if (unpacking_.checksum) checksum_ = crc32(checksum_, bytes);
    written_ = end;
  }

  // The declared size; without one, gzip's last four bytes hold the size modulo 2^32.
  std::string space_needed(Bytes written) const {
    if (unpacking_.size) return unpacking_.size->str();
    std::array<std::byte, 4> trailer = {};
    packed_.read_at(packed_.size() - Bytes(4), trailer);
    const Bytes stated(load_little<std::uint32_t>(trailer));
    return core::text("at least {}", std::max(stated, written).str());
  }

  void check_declared() const {
    if (unpacking_.size && written_ != *unpacking_.size) {
      throw core::fail(ErrorCode::kInvalidFile,
                       "{}: inflates to {} bytes instead of the {} declared", packed_.name(),
                       written_.count(), unpacking_.size->count());
    }
    if (unpacking_.checksum) hold_to(*unpacking_.checksum, checksum_, packed_.name());
  }

  const ByteSource& packed_;
  const Unpacking& unpacking_;
  Inflater inflater_;
  core::File file_;
  std::vector<std::byte> packed_chunk_;
  std::vector<std::byte> plain_chunk_;
  Bytes consumed_;
  Bytes written_;
  std::uint32_t checksum_ = 0;
};

}  // namespace

ByteSource ByteSource::open(const std::filesystem::path& path) {
  auto file = std::make_shared<const core::File>(core::File::open(path));
  const Bytes size = file->size();
  return {std::move(file), Bytes(0), size, path.string()};
}

ByteSource::ByteSource(std::shared_ptr<const core::File> file,
                       Bytes offset,
                       Bytes size,
                       std::string name)
    : file_(std::move(file)), offset_(offset), size_(size), name_(std::move(name)) {
  LT_CHECK(offset_ >= Bytes(0) && size_ >= Bytes(0), "a stretch of a file");
}

void ByteSource::read_at(Bytes offset, std::span<std::byte> out) const {
  LT_CHECK(offset >= Bytes(0), "reading starts inside the stretch");
  const Bytes wanted(static_cast<std::int64_t>(out.size()));
  if (offset > size_ || wanted > size_ - offset) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: {} bytes at {} reach over its end at {}", name_,
                     wanted.count(), offset.count(), size_.count());
  }
  file_->read_at(offset_ + offset, out);
}

ByteSource ByteSource::part(Bytes offset, Bytes size) const {
  LT_CHECK(offset >= Bytes(0) && size >= Bytes(0) && offset <= size_ && size <= size_ - offset,
           "a part lies inside its whole");
  return {file_, offset_ + offset, size, name_};
}

ByteSource unpack(const ByteSource& packed, const Unpacking& unpacking) {
  return Unpacker(packed, unpacking).run();
}

void verify(const ByteSource& source, std::uint32_t checksum) {
  std::vector<std::byte> chunk(kPlainChunk);
  std::uint32_t found = 0;
  for (Bytes at; at < source.size();) {
    const Bytes count = std::min(source.size() - at, Bytes(kPlainChunk));
    const auto bytes = std::span(chunk).first(static_cast<std::size_t>(count.count()));
    source.read_at(at, bytes);
    found = crc32(found, bytes);
    at += count;
  }
  hold_to(checksum, found, source.name());
}

std::uint32_t crc32(std::uint32_t checksum, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace lowtide::data
