// ModelFile: an ONNX file as it is written, checked for form but not for meaning. No weights in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "onnx/bytes/tensor.h"

namespace lowtide::onnx {

struct FileGraph;

// An attribute of a kind that Lowtide has no use for; only its name is kept.
struct OtherAttribute {};

// Within a function: whatever the call gives as the attribute of that name.
struct AttributeReference {
  std::string name;
};

struct Attribute {
  std::string name;
  std::variant<OtherAttribute,
               AttributeReference,
               std::int64_t,
               float,
               std::string,
               std::vector<std::int64_t>,
               std::vector<float>,
               std::vector<std::string>,
               TensorRef,
               std::shared_ptr<const FileGraph>>
      value;
};

struct FileNode {
  std::string type;
  std::string domain;  // "" for ONNX's own ("ai.onnx" is read as that)
  std::string name;
  std::vector<std::string> inputs;   // "" where omitted
  std::vector<std::string> outputs;  // "" where omitted
  std::vector<Attribute> attributes;
  std::optional<std::int64_t> opset = std::nullopt;  // of the function it comes from
  std::string rewritten_by = {};  // the rules of PyTorch's optimizer that made it; mostly empty

  [[nodiscard]] const Attribute* attribute(std::string_view wanted) const;
  // Its name, or that of its first output where it has none.
  [[nodiscard]] const std::string& label() const;
};

// A dimension: a number, a symbol, or neither.
struct Dim {
  std::optional<std::int64_t> value;
  std::string symbol;
};

struct ValueInfo {
  std::string name;
  std::optional<core::DType> dtype;  // absent: no tensor, or of a type Lowtide does not have
  std::string type_name;             // as ONNX calls it, for messages
  std::optional<std::vector<Dim>> dims;
  Metadata metadata;
};

struct FileGraph {
  std::string name;
  std::vector<FileNode> nodes;
  std::vector<TensorRef> initializers;
  std::vector<ValueInfo> inputs;  // initializers may be among them
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_info;
};

// What becomes of calls of the file's own functions.
enum class Calls {
  kInline,  // the functions' nodes stand where they were called
  kKeep,    // nodes are those of the file, one by one
};

// An initializer that holds another one transposed; see restore_ties.
struct TiedCopy {
  std::string copy;
  std::string original;
};

struct ModelFile {
  std::string path;  // for messages
  std::int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, std::int64_t> opsets;  // by domain
  Metadata metadata;
  FileGraph graph;
  std::vector<TiedCopy> ties = {};
};

// Reads the model at `path` through a mapping that is gone on return. Throws Error, with the path
// before it: kIo, kInvalidFile, kUnsupported.
ModelFile parse_file(const std::filesystem::path& path, Calls calls = Calls::kInline);

// Reads a model in memory. `name` is for messages. Tensors are copied; external data is refused.
ModelFile parse(std::span<const std::byte> bytes, const std::string& name);

}  // namespace lowtide::onnx
