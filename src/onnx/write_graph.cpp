#include <algorithm>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/text.h"
#include "onnx/bytes/wire.h"
#include "onnx/write.h"

namespace lowtide::onnx {

using core::fail;
using graph::NodeId;
using graph::OnnxForm;
using graph::Value;
using graph::ValueId;

namespace {

constexpr std::int64_t kIrVersion = 9;
constexpr std::int64_t kOpset = 20;
constexpr std::int64_t kDataAlignment = 64;

// AttributeProto: its field and its type for each kind of value.
WireWriter attribute(const std::string& name, const graph::OnnxAttribute& value) {
  WireWriter result;
  result.text(1, name);
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, float>) {
          result.real(2, held).integer(20, 1);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          result.integer(3, held).integer(20, 2);
        } else if constexpr (std::is_same_v<T, std::string>) {
          result.text(4, held).integer(20, 3);
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          for (const float element : held) result.real(7, element);
          result.integer(20, 6);
        } else {
          for (const std::int64_t element : held) result.integer(8, element);
          result.integer(20, 7);
        }
      },
      value);
  return result;
}

std::string scalar_bytes(const graph::OnnxScalar& scalar) {
  return core::visit(scalar.dtype, [&](auto tag) {
    const auto element = static_cast<typename decltype(tag)::type>(scalar.value);
    return std::string(reinterpret_cast<const char*>(&element), sizeof(element));
  });
}

// TensorProto, without a name.
WireWriter constant_tensor(const graph::OnnxConstant& constant) {
  WireWriter tensor;
  const auto vector = [&](core::DType dtype, std::uint32_t field, const auto& elements) {
    const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(elements.size())};
    tensor.packed(1, dims).integer(2, onnx_type_of(dtype)).packed(field, elements);
  };
  if (const auto* const scalar = std::get_if<graph::OnnxScalar>(&constant)) {
    tensor.integer(2, onnx_type_of(scalar->dtype)).text(9, scalar_bytes(*scalar));
  } else if (const auto* const number = std::get_if<std::int64_t>(&constant)) {
    tensor.integer(2, onnx_type_of(core::DType::kInt64)).packed(7, std::vector{*number});
  } else if (const auto* const reals = std::get_if<std::vector<float>>(&constant)) {
    vector(core::DType::kFloat32, 4, *reals);
  } else {
    vector(core::DType::kInt64, 7, std::get<std::vector<std::int64_t>>(constant));
  }
  return tensor;
}

class GraphWriter {
 public:
  GraphWriter(const graph::Graph& graph,
              const std::filesystem::path& out,
              const WriteOptions& options);

  void write();

 private:
  void name_values();
  std::string fresh(std::string wanted);
  void add_node(NodeId id);
  void emit(const OnnxForm& form,
            const std::string& name,
            const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs);
  std::string add_constant(const graph::OnnxConstant& constant, const std::string& stem);
  void add_initializers();
  Pieces initializer(const Value& value, const std::string& name);
  void add_content(const Value& value, Pieces& to);
  WireWriter value_info(const Value& value, const std::string& name) const;
  void add_interface();
  [[nodiscard]] std::string output_name(std::size_t i) const;

  const graph::Graph& graph_;
  std::filesystem::path out_;
  const WriteOptions& options_;
  bool external_ = false;
  std::set<std::string> taken_;
  std::map<ValueId, std::string> names_;
  std::map<ValueId, std::string> output_names_;  // names_ before identities were passed through
  std::map<std::string, std::shared_ptr<const InputFile>> files_;
  Pieces content_;  // of the GraphProto
  Pieces data_;
};

GraphWriter::GraphWriter(const graph::Graph& graph,
                         const std::filesystem::path& out,
                         const WriteOptions& options)
    : graph_(graph), out_(out), options_(options) {
  if (!options.output_names.empty() && options.output_names.size() != graph.outputs().size()) {
    throw fail(ErrorCode::kInvalidArgument, "{} names for {} outputs", options.output_names.size(),
               graph.outputs().size());
  }
  Bytes weights;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    if (graph::is_persistent(value.role)) weights += value.type.bytes();
  }
  external_ = weights > options.inline_limit;
  name_values();
}

std::string GraphWriter::fresh(std::string wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = core::text("{}.{}", wanted, i);
  return name;
}

std::string GraphWriter::output_name(std::size_t i) const {
  return options_.output_names.empty() ? graph_.value(graph_.outputs()[i]).name
                                       : options_.output_names[i];
}

// Inputs, weights and computed outputs keep their names; the others make way.
void GraphWriter::name_values() {
  const auto name = [&](ValueId id, const std::string& wanted) {
    if (!names_.contains(id)) names_[id] = fresh(wanted.empty() ? "value" : wanted);
  };
  for (const ValueId input : graph_.inputs()) name(input, graph_.value(input).name);
  for (std::size_t i = 0; i < graph_.value_count(); ++i) {
    const Value& value = graph_.value(ValueId(i));
    if (graph::is_persistent(value.role) && !value.producer.valid()) name(ValueId(i), value.name);
  }
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    name(graph_.outputs()[i], output_name(i));
  }
  for (std::size_t i = 0; i < graph_.value_count(); ++i) {
    name(ValueId(i), graph_.value(ValueId(i)).name);
  }
  output_names_ = names_;
}

// The name of an initializer that holds the constant; empty for an input that is left out.
std::string GraphWriter::add_constant(const graph::OnnxConstant& constant,
                                      const std::string& stem) {
  if (std::holds_alternative<std::monostate>(constant)) return "";
  const std::string name = fresh(stem);
  content_.add(WireWriter().message(5, constant_tensor(constant).text(8, name)).bytes());
  return name;
}

void GraphWriter::emit(const OnnxForm& form,
                       const std::string& name,
                       const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  WireWriter node;
  for (const std::string& input : inputs) node.text(1, input);
  for (const std::string& output : outputs) node.text(2, output);
  node.text(3, name).text(4, form.type);
  for (const auto& [key, value] : form.attributes) node.message(5, attribute(key, value));
  content_.add(WireWriter().message(1, node).bytes());
}

void GraphWriter::add_node(NodeId id) {
  const graph::Node& node = graph_.node(id);
  const std::vector<core::TensorType> in = graph_.types(node.inputs);
  const std::vector<core::TensorType> out = graph_.types(node.outputs);
  const std::optional<OnnxForm> form = node.op->onnx_form(node.attrs, {in, out});
  if (!form) {
    throw fail(ErrorCode::kUnsupported, "{}: node '{}' ({}) has no ONNX form", out_.string(),
               node.name, node.op->name());
  }
  // A form without a type is an identity, such as a change of layout.
  if (form->type.empty()) {
    names_[node.outputs.front()] = names_.at(node.inputs.front());
    return;
  }
  std::vector<std::string> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(names_.at(input));
  for (std::size_t i = 0; i < form->constant_inputs.size(); ++i) {
    inputs.push_back(add_constant(form->constant_inputs[i],
                                  core::text("{}/{}", node.name, node.inputs.size() + i)));
  }
  std::vector<std::string> outputs;
  for (const ValueId output : node.outputs) outputs.push_back(names_.at(output));
  emit(*form, node.name, inputs, outputs);
}

void GraphWriter::add_content(const Value& value, Pieces& to) {
  const std::int64_t length = value.type.bytes().count();
  if (value.content.tensor) {
    to.add_source(bytes_of(*value.content.tensor->bytes), length);
  } else if (!value.content.file.empty()) {
    auto& file = files_[value.content.file];
    if (!file) file = std::make_shared<const InputFile>(InputFile::open(value.content.file));
    to.add_range(file, value.content.offset, value.content.offset + length);
  } else if (const auto& recipe = value.content.draw) {
    to.add_source(
        [recipe = *recipe](std::int64_t offset, std::span<std::byte> into) {
          core::draw_bytes(recipe, offset / static_cast<std::int64_t>(sizeof(float)), into);
        },
        length);
  } else {
    to.add_source(
        [](std::int64_t, std::span<std::byte> into) {
          std::fill(into.begin(), into.end(), std::byte{0});
        },
        length);
  }
}

Pieces GraphWriter::initializer(const Value& value, const std::string& name) {
  if (value.type.layout != core::Layout::kPlain || value.type.dtype == core::DType::kOpaque) {
    throw fail(ErrorCode::kUnsupported, "{}: '{}' of type {} has no ONNX form", out_.string(), name,
               value.type.str());
  }
  WireWriter head;
  head.packed(1, value.type.shape.dims()).integer(2, onnx_type_of(value.type.dtype)).text(8, name);
  Pieces tensor;
  if (!external_) {
    tensor.add(head.bytes());
    Pieces raw;
    add_content(value, raw);
    tensor.add(wire_field(9, std::move(raw)));
    return wire_field(5, std::move(tensor));
  }
  const std::int64_t begin = Bytes(data_.size()).rounded_up(Bytes(kDataAlignment)).count();
  data_.add(std::string(static_cast<std::size_t>(begin - data_.size()), '\0'));
  add_content(value, data_);
  const auto entry = [&](std::string_view key, const std::string& text) {
    head.message(13, WireWriter().text(1, key).text(2, text));
  };
  entry("location", out_.filename().string() + ".data");
  entry("offset", core::text("{}", begin));
  entry("length", core::text("{}", value.type.bytes().count()));
  head.integer(14, 1);
  tensor.add(head.bytes());
  return wire_field(5, std::move(tensor));
}

void GraphWriter::add_initializers() {
  std::set<ValueId> read(graph_.outputs().begin(), graph_.outputs().end());
  for (std::size_t i = 0; i < graph_.node_count(); ++i) {
    const graph::Node& node = graph_.node(NodeId(i));
    read.insert(node.inputs.begin(), node.inputs.end());
  }
  for (const ValueId id : read) {
    const Value& value = graph_.value(id);
    if (graph::is_persistent(value.role) && !value.producer.valid()) {
      content_.add(initializer(value, names_.at(id)));
    }
  }
}

WireWriter GraphWriter::value_info(const Value& value, const std::string& name) const {
  WireWriter shape;
  for (std::size_t i = 0; i < value.type.shape.rank(); ++i) {
    WireWriter dim;
    if (i == 0 && !options_.batch_name.empty()) {
      dim.text(2, options_.batch_name);
    } else {
      dim.integer(1, value.type.shape[i]);
    }
    shape.message(1, dim);
  }
  const WireWriter tensor =
      WireWriter().integer(1, onnx_type_of(value.type.dtype)).message(2, shape);
  return WireWriter().text(1, name).message(2, WireWriter().message(1, tensor));
}

void GraphWriter::add_interface() {
  for (const ValueId input : graph_.inputs()) {
    const WireWriter info = value_info(graph_.value(input), names_.at(input));
    content_.add(WireWriter().message(11, info).bytes());
  }
  std::set<ValueId> given;
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId output = graph_.outputs()[i];
    const bool own = graph_.value(output).producer.valid() && given.insert(output).second;
    // Inputs, weights and repeated outputs are given out under names of their own.
    const std::string name = own ? output_names_.at(output) : fresh(output_name(i));
    if (name != names_.at(output)) emit({.type = "Identity"}, name, {names_.at(output)}, {name});
    const WireWriter info = value_info(graph_.value(output), name);
    content_.add(WireWriter().message(12, info).bytes());
  }
}

void GraphWriter::write() {
  for (std::size_t i = 0; i < graph_.node_count(); ++i) add_node(NodeId(i));
  content_.add(WireWriter().text(2, "lowtide").bytes());
  add_initializers();
  add_interface();
  Pieces model;
  model.add(WireWriter().integer(1, kIrVersion).text(2, "lowtide").bytes());
  model.add(wire_field(7, std::move(content_)));
  const WireWriter opset = WireWriter().text(1, "").integer(2, kOpset);
  model.add(WireWriter().message(8, opset).bytes());
  core::OutputFile file(out_);
  model.write_to(file);
  if (external_) {
    std::filesystem::path data_path = out_;
    data_path += ".data";
    core::OutputFile data_file(data_path);
    data_.write_to(data_file);
    data_file.commit();
  }
  file.commit();
}

}  // namespace

void write_graph(const graph::Graph& graph,
                 const std::filesystem::path& out,
                 const WriteOptions& options) {
  GraphWriter(graph, out, options).write();
}

}  // namespace lowtide::onnx
