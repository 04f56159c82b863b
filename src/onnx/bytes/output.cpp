#include "onnx/bytes/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "onnx/bytes/wire.h"

namespace lowtide::onnx {

using core::fail;

namespace {

constexpr std::int64_t kChunk = 256 * 1024;
constexpr int kAttempts = 100;

Error cannot(const char* what, const std::filesystem::path& path) {
  return fail(ErrorCode::kIo, "{}: cannot {}: {}", path.string(), what,
              std::generic_category().message(errno));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Makes a rename last through a power cut. Not all file systems can; then the rename still holds.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

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

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path) {
  if (!path.has_filename()) throw fail(ErrorCode::kIo, "'{}' names no file", path.string());
  for (int i = 0; i < kAttempts; ++i) {
    temporary_ =
        (folder_of(path) / core::text(".{}.{}-{}.tmp", path.filename().string(), ::getpid(), i))
            .string();
    descriptor_ =
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  throw cannot("create", path_);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot("write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0) throw cannot("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw cannot("replace", path_);
  ::close(std::exchange(descriptor_, -1));
  sync_folder(folder_of(path_));
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

void Pieces::write_to(OutputFile& file) const {
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
