// TensorProto: what a tensor of the file is and where its bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor_type.h"
#include "onnx/bytes/half.h"
#include "onnx/bytes/wire.h"

namespace lowtide::onnx {

using Metadata = std::map<std::string, std::string>;

// Where the bytes of a model come from.
struct Origin {
  std::string file;              // empty: memory, so tensors must be copied out of it
  std::filesystem::path folder;  // of external data
  bool external_allowed = false;
};

// A tensor, checked: its bytes are exactly as many as its type says. Weights stay in the file.
struct TensorRef {
  std::string name;
  core::TensorType type;
  std::string file;         // where its bytes lie one after the other; empty: nowhere
  std::int64_t offset = 0;  // into `file`
  std::string location;     // of external data, as the model writes it; empty: inline
  // Held in memory where they are few, or do not lie in a file as the type has them.
  std::shared_ptr<const std::vector<std::byte>> bytes;
  Half half = Half::kNone;  // what the file has for float32 elements
  Metadata metadata;

  [[nodiscard]] Bytes bytes_in_file() const;
};

// The largest tensor that is kept in memory though a file holds it.
inline constexpr Bytes kSmallTensor = Bytes(1024);

// Reads a TensorProto. Throws Error naming the tensor: kInvalidFile for wrong sizes and places,
// kUnsupported for element types Lowtide does not have. Halves are read as float32.
TensorRef read_tensor(const WireField& field, const Origin& origin);

// The whole tensor in memory (read from its file if need be).
std::shared_ptr<const std::vector<std::byte>> load(const TensorRef& tensor);

// ONNX's numbers for element types; halves are float32.
Half half_of(std::int64_t onnx_type);
std::int64_t onnx_type_of(const TensorRef& tensor);  // as the file has it
std::optional<core::DType> dtype_of(std::int64_t onnx_type);
std::string onnx_type_name(std::int64_t onnx_type);
std::int64_t onnx_type_of(core::DType dtype);

// A StringStringEntryProto, put into `to`.
void read_entry(const WireField& field, Metadata& to);

}  // namespace lowtide::onnx
