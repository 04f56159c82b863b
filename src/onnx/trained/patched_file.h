// PatchedFile: a source file that is copied with the bytes of some tensors replaced.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "onnx/bytes/output.h"
#include "onnx/bytes/tensor.h"

namespace lowtide::onnx {

// A source file, copied stretch by stretch with new bytes in some places.
class PatchedFile {
 public:
  explicit PatchedFile(InputFile file)
      : file_(std::make_shared<const InputFile>(std::move(file))) {}

  [[nodiscard]] const InputFile& file() const { return *file_; }

  // Claims the place of a tensor; `bytes` are null where it stays as it is.
  void claim(const TensorRef& tensor, const ByteSource* bytes);
  // Throws Error(kUnsupported) where a place with new bytes belongs to two tensors.
  void check() const;
  void copy(std::int64_t begin, std::int64_t end, Pieces& to) const;
  [[nodiscard]] std::int64_t claimed_end() const { return claimed_end_; }

 private:
  struct Place {
    std::int64_t length = 0;
    std::string name;
    const ByteSource* bytes = nullptr;
  };

  std::shared_ptr<const InputFile> file_;
  std::multimap<std::int64_t, Place> places_;
  std::int64_t claimed_end_ = 0;
};

}  // namespace lowtide::onnx
