#include "onnx/bytes/output.h"

#include <algorithm>
#include <utility>

#include "onnx/bytes/wire.h"

namespace lowtide::onnx {

namespace {

constexpr std::int64_t kChunk = 256 * 1024;

// Calls f(chunk, offset) for a buffer that covers `length` bytes piece by piece.
template <class F>
void in_chunks(std::int64_t length, F f) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(length, kChunk)));
  for (std::int64_t at = 0; at < length; at += kChunk) {
    const auto count = static_cast<std::size_t>(std::min(length - at, kChunk));
    f(std::span(buffer).first(count), at);
  }
}

}  // namespace

ByteSource bytes_of(std::span<const std::byte> bytes) {
  return [bytes](std::int64_t offset, std::span<std::byte> into) {
    const auto part = bytes.subspan(static_cast<std::size_t>(offset), into.size());
    std::copy(part.begin(), part.end(), into.begin());
  };
}

void Pieces::add(std::string bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  pieces_.emplace_back(std::move(bytes));
}

void Pieces::add(Pieces other) {
  size_ += other.size_;
  std::move(other.pieces_.begin(), other.pieces_.end(), std::back_inserter(pieces_));
}

void Pieces::add_range(std::shared_ptr<const InputFile> file,
                       std::int64_t begin,
                       std::int64_t end) {
  if (begin == end) return;
  size_ += end - begin;
  // Neighbours within one file become one piece.
  if (!pieces_.empty()) {
    auto* last = std::get_if<Range>(&pieces_.back());
    if (last != nullptr && last->file == file && last->end == begin) {
      last->end = end;
      return;
    }
  }
  pieces_.emplace_back(Range{std::move(file), begin, end});
}

void Pieces::add_source(ByteSource source, std::int64_t length) {
  size_ += length;
  pieces_.emplace_back(Source{std::move(source), length});
}

void Pieces::write_to(core::OutputFile& file) const {
  for (const auto& piece : pieces_) {
    if (const auto* bytes = std::get_if<std::string>(&piece)) {
      file.write(std::as_bytes(std::span(*bytes)));
    } else if (const auto* range = std::get_if<Range>(&piece)) {
      in_chunks(range->end - range->begin, [&](std::span<std::byte> chunk, std::int64_t at) {
        range->file->read(range->begin + at, chunk);
        file.write(chunk);
      });
    } else if (const auto* source = std::get_if<Source>(&piece)) {
      in_chunks(source->length, [&](std::span<std::byte> chunk, std::int64_t at) {
        source->fill(at, chunk);
        file.write(chunk);
      });
    }
  }
}

Pieces wire_field(std::uint32_t number, Pieces content) {
  WireWriter header;
  header.header(number, static_cast<std::uint64_t>(content.size()));
  Pieces field;
  field.add(header.bytes());
  field.add(std::move(content));
  return field;
}

}  // namespace lowtide::onnx
