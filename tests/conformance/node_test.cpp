#include "conformance/node_test.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "lowtide/error.h"

#include "core/text.h"
#include "graph/builder.h"
#include "graph/evaluate.h"
#include "onnx/bytes/file.h"
#include "ops/catalog.h"
#include "ops/layout/layout.h"

namespace lowtide::conformance {

using graph::ConstantTensor;
using graph::ValueId;

namespace {

constexpr std::string_view kPrefix = "test_";

ConstantTensor load_tensor(const std::filesystem::path& path) {
  const onnx::InputFile file = onnx::InputFile::open(path);
  const onnx::MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  const onnx::WireField whole{
      .number = 1, .type = onnx::WireType::kBytes, .payload = bytes, .end = bytes.size()};
  const onnx::TensorRef tensor = onnx::read_tensor(whole, {});
  return {tensor.type, onnx::load(tensor)};
}

void check_types(const std::vector<onnx::ValueInfo>& values) {
  for (const onnx::ValueInfo& value : values) {
    if (value.dtype) continue;
    throw core::fail(ErrorCode::kUnsupported, "'{}' has type {}", value.name, value.type_name);
  }
}

// Trailing inputs and outputs that a test leaves out have no file.
std::vector<ConstantTensor> load_tensors(const std::filesystem::path& folder,
                                         std::string_view stem,
                                         std::size_t count) {
  std::vector<ConstantTensor> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::filesystem::path path = folder / core::text("{}_{}.pb", stem, i);
    if (!std::filesystem::exists(path)) break;
    result.push_back(load_tensor(path));
  }
  return result;
}

std::optional<std::string> between(std::string_view text,
                                   std::string_view before,
                                   std::string_view after) {
  const std::size_t end = text.rfind(after);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.rfind(before, end);
  if (begin == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(begin + before.size(), end - begin - before.size()));
}

// The value that the reader refused to take as data.
std::optional<std::string> wanted_constant(const Error& error) {
  const std::string_view what = error.what();
  if (auto name = between(what, "('", "') must be constant")) return name;
  return between(what, "its condition '", "' is computed from data");
}

// What each value is computed from, branches included.
using Reads = std::multimap<std::string, std::string>;

void collect_reads(const onnx::FileGraph& graph, Reads& reads) {
  for (const onnx::FileNode& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      for (const std::string& input : node.inputs) reads.emplace(output, input);
    }
    for (const onnx::Attribute& attribute : node.attributes) {
      using Branch = std::shared_ptr<const onnx::FileGraph>;
      if (const auto* branch = std::get_if<Branch>(&attribute.value))
        collect_reads(**branch, reads);
    }
  }
}

// The values that `name` is computed from, itself among them.
std::unordered_set<std::string> sources_of(const onnx::FileGraph& graph, const std::string& name) {
  Reads reads;
  collect_reads(graph, reads);
  std::unordered_set<std::string> sources = {name};
  std::vector<std::string> todo = {name};
  while (!todo.empty()) {
    const auto [first, last] = reads.equal_range(todo.back());
    todo.pop_back();
    for (auto read = first; read != last; ++read) {
      if (sources.insert(read->second).second) todo.push_back(read->second);
    }
  }
  return sources;
}

bool is_filled(const onnx::FileGraph& graph, const std::string& name) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [&](const onnx::TensorRef& tensor) { return tensor.name == name; });
}

// Gives the inputs that `name` depends on the test's values; false where they have them already.
bool fill(onnx::ModelFile& file, const NodeTest& test, const std::string& name) {
  bool filled = false;
  const std::unordered_set<std::string> sources = sources_of(file.graph, name);
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string& input = file.graph.inputs[i].name;
    if (!sources.contains(input) || is_filled(file.graph, input)) continue;
    onnx::TensorRef tensor;
    tensor.name = input;
    tensor.type = test.inputs[i].type;
    tensor.bytes = test.inputs[i].bytes;
    file.graph.initializers.push_back(std::move(tensor));
    filled = true;
  }
  return filled;
}

onnx::Model read_filling(const NodeTest& test, onnx::ModelFile& file) {
  for (;;) {
    onnx::ReadOptions options{.catalog = ops::catalog()};
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      const std::string& input = file.graph.inputs[i].name;
      if (!is_filled(file.graph, input)) options.shapes[input] = test.inputs[i].type.shape;
    }
    try {
      return onnx::build(file, options);
    } catch (const Error& error) {
      const auto name = wanted_constant(error);
      if (!name || !fill(file, test, *name)) throw;
    }
  }
}

}  // namespace

std::vector<std::string> list_tests(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(name.substr(kPrefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

NodeTest load_test(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path own = folder / (std::string(kPrefix) + name);
  NodeTest test{.name = name, .file = onnx::parse_file(own / "model.onnx")};
  check_types(test.file.graph.inputs);
  check_types(test.file.graph.outputs);
  const std::filesystem::path data = own / "test_data_set_0";
  test.inputs = load_tensors(data, "input", test.file.graph.inputs.size());
  test.outputs = load_tensors(data, "output", test.file.graph.outputs.size());
  return test;
}

BoundTest bind_test(const NodeTest& test) {
  onnx::ModelFile file = test.file;
  BoundTest bound{.model = read_filling(test, file), .data_inputs = {}};
  graph::GraphBuilder builder(bound.model.graph);
  for (ValueId& output : bound.model.graph.outputs()) output = ops::to_plain(builder, output);
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    if (!is_filled(file.graph, file.graph.inputs[i].name)) bound.data_inputs.push_back(i);
  }
  return bound;
}

std::vector<ConstantTensor> run_test(const NodeTest& test,
                                     const BoundTest& bound,
                                     const core::Machine& machine) {
  const graph::Graph& graph = bound.model.graph;
  std::map<ValueId, ConstantTensor> given;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    given.emplace(graph.inputs()[i], test.inputs[bound.data_inputs[i]]);
  }
  const auto values = graph::interpret(graph, std::move(given), machine);
  std::vector<ConstantTensor> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(values.at(output));
  return outputs;
}

}  // namespace lowtide::conformance
