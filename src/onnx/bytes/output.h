// Writing large files without holding them: a list of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/output/output_file.h"
#include "onnx/bytes/file.h"

namespace lowtide::onnx {

// Fills `into` with a tensor's bytes from `offset` on. Called in order, each byte once.
using ByteSource = std::function<void(std::int64_t offset, std::span<std::byte> into)>;

// Bytes that lie in memory and stay there until they are written.
ByteSource bytes_of(std::span<const std::byte> bytes);

// What a file will hold, in order: short texts, stretches of other files, sources.
class Pieces {
 public:
  void add(std::string bytes);
  void add(Pieces other);
  void add_range(std::shared_ptr<const InputFile> file, std::int64_t begin, std::int64_t end);
  void add_source(ByteSource source, std::int64_t length);

  [[nodiscard]] std::int64_t size() const { return size_; }
  void write_to(core::OutputFile& file) const;

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
