// Writing large files without holding them: a list of pieces, and a file that appears only when
// it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onnx/bytes/file.h"

namespace lowtide::onnx {

// Fills `into` with a tensor's bytes from `offset` on. Called in order, each byte once.
using ByteSource = std::function<void(std::int64_t offset, std::span<std::byte> into)>;

// Bytes that lie in memory and stay there until they are written.
ByteSource bytes_of(std::span<const std::byte> bytes);

// A file under way: written to a temporary beside `path`, which nothing else can hold, and renamed
// over it by `commit`. A link at `path` is replaced, never followed. Without `commit` no trace is
// left. Everything throws Error(kIo) naming `path`.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
};

// What a file will hold, in order: short texts, stretches of other files, sources.
class Pieces {
 public:
  void add(std::string bytes);
  void add(Pieces other);
  void add_range(std::shared_ptr<const InputFile> file, std::int64_t begin, std::int64_t end);
  void add_source(ByteSource source, std::int64_t length);

  [[nodiscard]] std::int64_t size() const { return size_; }
  void write_to(OutputFile& file) const;

 private:
  struct Range {
    std::shared_ptr<const InputFile> file;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  struct Source {
    ByteSource fill;
    std::int64_t length = 0;
  };

  std::vector<std::variant<std::string, Range, Source>> pieces_;
  std::int64_t size_ = 0;
};

// A length-delimited protobuf field with that content.
Pieces wire_field(std::uint32_t number, Pieces content);

}  // namespace lowtide::onnx
