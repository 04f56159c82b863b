// What the ONNX tests share: toy ops, models put together by hand, and a folder of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lowtide/error.h"

#include "graph/graph.h"
#include "onnx/bytes/wire.h"
#include "onnx/read.h"

namespace lowtide::onnx::toy {

// Add (broadcasting), Relu, Ramp (a Relu that may take two constant integers, and reals that
// ascend), ToPlain (toy::, an identity on paper); BatchNormalization and Dropout that hand their
// input on.
std::span<const graph::OpDef* const> catalog();

// A folder that is gone when the test is.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, const std::string& bytes);
std::string read_file(const std::filesystem::path& path);
std::string raw(const std::vector<float>& elements);

// Dimensions of an input: numbers, or symbols.
using Dims = std::vector<std::string>;

WireWriter value_info(const std::string& name, const Dims& dims, std::int64_t type = 1);
WireWriter tensor(const std::string& name, const std::vector<float>& elements);
WireWriter integers(const std::string& name, const std::vector<std::int64_t>& elements);
WireWriter external(const std::string& name,
                    std::int64_t elements,
                    const std::string& location,
                    std::int64_t offset = 0);
WireWriter node(const std::string& type,
                const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs,
                const std::vector<WireWriter>& attributes = {},
                const std::string& name = "");
WireWriter int_attribute(const std::string& name, std::int64_t value);
WireWriter graph_attribute(const std::string& name, const WireWriter& graph);
WireWriter tensor_attribute(const std::string& name, const WireWriter& tensor);

struct Parts {
  std::vector<WireWriter> nodes = {};
  std::vector<WireWriter> initializers = {};
  std::vector<WireWriter> inputs = {};
  std::vector<WireWriter> outputs = {};
  std::int64_t ir_version = 8;
  std::int64_t opset = 17;
  std::vector<WireWriter> value_info = {};
};

WireWriter graph(const Parts& parts);
std::string model(const Parts& parts);

// x [batch, 2] + w [2] -> Relu -> y.
Parts small_network();

ModelFile parse_text(const std::string& bytes);
// The message of the Error that f throws, after checking its code; "" where it throws none.
std::string message_of(const std::function<void()>& f, ErrorCode code);

}  // namespace lowtide::onnx::toy
