// The safetensors format: named tensors behind a header of JSON, in one file that many tools read.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/bytes.h"

#include "core/file.h"
#include "core/tensor_type.h"

namespace lowtide::train {

struct SafeTensor {
  std::string name;
  core::TensorType type;  // plain layout
  Bytes offset;           // of its first byte in the file
};

// What the header says. Tensors follow each other without gaps, to the end of the file.
struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;  // in the order of their bytes
  Bytes end;                        // of the header: where the data begins
  // Throws Error(kInvalidFile) where there is none of that name.
  [[nodiscard]] const SafeTensor& tensor(const std::string& name) const;
};

// Reads and checks a header: only a file that ends with its last tensor passes. Throws
// Error(kInvalidFile) naming the file and what is wrong, Error(kIo). Holds a small multiple of the
// header, which is no larger than the file.
SafetensorsHeader read_safetensors_header(const core::File& file);

// The same for a header in memory, without the length before it, of a file of that size.
SafetensorsHeader parse_safetensors_header(std::span<const char> json,
                                           Bytes file_size,
                                           const std::string& file_name);

// The first bytes of a file with these tensors, whose offsets are not looked at: data begins right
// behind, at a multiple of 64.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               std::span<const SafeTensor> tensors);

}  // namespace lowtide::train
