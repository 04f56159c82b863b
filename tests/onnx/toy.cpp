#include "onnx/toy.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <type_traits>

#include <gtest/gtest.h>

#include "core/text.h"
#include "graph/builder.h"

namespace lowtide::onnx::toy {

using graph::InputGradients;
using graph::OnnxForm;
using graph::OnnxNode;
using graph::Run;
using graph::Signature;
using graph::TensorType;
using graph::TypedOp;
using graph::Types;
using graph::ValueId;

namespace {

struct None {
  bool operator==(const None&) const = default;
};

const graph::OpDef& add_op();
const graph::OpDef& relu_op();

graph::Cost no_cost(const None&, const Signature&) { return {}; }

std::vector<TensorType> infer_add(const None&, Types in) {
  if (in[0].dtype != in[1].dtype) {
    throw core::fail(ErrorCode::kInvalidArgument, "{} and {} differ", in[0].str(), in[1].str());
  }
  return {{in[0].dtype, core::broadcast(in[0].shape, in[1].shape), core::Layout::kPlain}};
}

// Right for equal shapes and for a second operand that repeats along the first dimensions.
void run_add(const None&, const Signature& types, const Run& run) {
  core::visit(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t period = types.in[1].shape.elements();
    const std::int64_t first = types.in[0].shape.elements();
    for (std::int64_t i = 0; i < types.out[0].shape.elements(); ++i) {
      const T a = run.input<T>(0)[i % first];
      const T b = run.input<T>(1)[i % period];
      if constexpr (std::is_floating_point_v<T>) {
        run.output<T>(0)[i] = a + b;
      } else {
        // Hostile integers may overflow; unsigned ones do so quietly.
        run.output<T>(0)[i] =
            static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      }
    }
  });
}

std::vector<ValueId> read_add(OnnxNode& node) {
  return {node.builder().add_one(add_op(), graph::Attrs::of(None()),
                                 {node.required_input(0), node.required_input(1)})};
}

template <class A>
std::optional<OnnxForm> form_add(const A&, const Signature&) {
  return OnnxForm{.type = "Add"};
}

const graph::OpDef& add_op() {
  static const TypedOp<None> op{{
      .name = "Add",
      .infer = infer_add,
      .gradient = graph::not_differentiable,
      .cost = no_cost,
      .repeat = graph::Repeat::kExact,
      .onnx = {{.type = "Add", .read = read_add}},
      .onnx_form = form_add<None>,
      .kernels = {{.name = "reference", .run = run_add}},
  }};
  return op;
}

// Relu, and as Ramp, which ONNX does not know, with an attribute and constant inputs to carry
// through it.
struct Relu {
  std::int64_t times = 1;

  bool operator==(const Relu&) const = default;
};

std::vector<TensorType> infer_relu(const Relu&, Types in) {
  if (!core::is_float(in[0].dtype)) {
    throw core::fail(ErrorCode::kInvalidArgument, "{} is not float", in[0].str());
  }
  return {in[0]};
}

graph::Cost relu_cost(const Relu&, const Signature&) { return {}; }

void run_relu(const Relu&, const Signature& types, const Run& run) {
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.out[0].shape.elements(); ++i) {
      run.output<T>(0)[i] = std::max(run.input<T>(0)[i], T{0});
    }
  });
}

std::vector<ValueId> read_relu(OnnxNode& node) {
  const Relu attributes{.times = node.integer("times", 1)};
  const auto extra = node.constant_integers(1);
  if (extra && extra->size() != 2) {
    throw core::fail(ErrorCode::kInvalidFile, "two integers are needed");
  }
  const auto reals = node.constant_reals(2);
  if (reals && !std::is_sorted(reals->begin(), reals->end())) {
    throw core::fail(ErrorCode::kInvalidFile, "{} must ascend", *reals);
  }
  return {
      node.builder().add_one(relu_op(), graph::Attrs::of(attributes), {node.required_input(0)})};
}

std::optional<OnnxForm> form_relu(const Relu& relu, const Signature&) {
  if (relu.times == 1) return OnnxForm{.type = "Relu"};
  return OnnxForm{.type = "Ramp",
                  .attributes = {{"times", relu.times}},
                  .constant_inputs = {std::vector<std::int64_t>{3, 4}}};
}

const graph::OpDef& relu_op() {
  static const TypedOp<Relu> op{{
      .name = "Relu",
      .infer = infer_relu,
      .gradient = graph::not_differentiable,
      .cost = relu_cost,
      .repeat = graph::Repeat::kExact,
      .onnx = {{.type = "Relu", .read = read_relu},
               {.type = "Ramp", .read = read_relu},
               {.type = "SplitToSequence", .read = read_relu}},
      .onnx_form = form_relu,
      .kernels = {{.name = "reference", .run = run_relu}},
  }};
  return op;
}

// Hands its input on and gives no further outputs.
std::vector<ValueId> read_pass(OnnxNode& node) { return {node.required_input(0)}; }

std::vector<TensorType> infer_plain(const None&, Types in) { return {in[0]}; }

void run_plain(const None&, const Signature& types, const Run& run) {
  std::copy_n(run.in[0], types.in[0].bytes().count(), run.out[0]);
}

std::vector<ValueId> read_plain(OnnxNode& node);

std::optional<OnnxForm> form_plain(const None&, const Signature&) { return OnnxForm{.type = ""}; }

const graph::OpDef& plain_op() {
  static const TypedOp<None> op{{
      .name = "ToPlain",
      .infer = infer_plain,
      .gradient = graph::not_differentiable,
      .cost = no_cost,
      .repeat = graph::Repeat::kExact,
      .onnx = {{.type = "BatchNormalization", .read = read_pass},
               {.type = "Dropout", .read = read_pass},
               {.type = "ToPlain", .read = read_plain, .domain = "toy"}},
      .onnx_form = form_plain,
      .kernels = {{.name = "reference", .run = run_plain}},
  }};
  return op;
}

std::vector<ValueId> read_plain(OnnxNode& node) {
  return {node.builder().add_one(plain_op(), graph::Attrs::of(None()), {node.required_input(0)})};
}

}  // namespace

std::span<const graph::OpDef* const> catalog() {
  static const std::array<const graph::OpDef*, 3> ops = {&add_op(), &relu_op(), &plain_op()};
  return ops;
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "lowtide-onnx-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string raw(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
}

WireWriter value_info(const std::string& name, const Dims& dims, std::int64_t type) {
  WireWriter shape;
  for (const std::string& dim : dims) {
    const bool number = !dim.empty() && std::all_of(dim.begin(), dim.end(), ::isdigit);
    WireWriter message;
    if (number) {
      message.integer(1, std::stoll(dim));
    } else if (!dim.empty()) {
      message.text(2, dim);
    }
    shape.message(1, message);
  }
  const WireWriter tensor = WireWriter().integer(1, type).message(2, shape);
  return WireWriter().text(1, name).message(2, WireWriter().message(1, tensor));
}

WireWriter tensor(const std::string& name, const std::vector<float>& elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return WireWriter().integer(1, count).integer(2, 1).text(8, name).text(9, raw(elements));
}

WireWriter integers(const std::string& name, const std::vector<std::int64_t>& elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return WireWriter().integer(1, count).integer(2, 7).packed(7, elements).text(8, name);
}

WireWriter external(const std::string& name,
                    std::int64_t elements,
                    const std::string& location,
                    std::int64_t offset) {
  WireWriter tensor = WireWriter().integer(1, elements).integer(2, 1).text(8, name);
  tensor.message(13, WireWriter().text(1, "location").text(2, location));
  tensor.message(13, WireWriter().text(1, "offset").text(2, std::to_string(offset)));
  return tensor.integer(14, 1);
}

WireWriter node(const std::string& type,
                const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs,
                const std::vector<WireWriter>& attributes,
                const std::string& name) {
  WireWriter result;
  for (const std::string& input : inputs) result.text(1, input);
  for (const std::string& output : outputs) result.text(2, output);
  result.text(3, name).text(4, type);
  for (const WireWriter& attribute : attributes) result.message(5, attribute);
  return result;
}

WireWriter int_attribute(const std::string& name, std::int64_t value) {
  return WireWriter().text(1, name).integer(3, value).integer(20, 2);
}

WireWriter graph_attribute(const std::string& name, const WireWriter& graph) {
  return WireWriter().text(1, name).message(6, graph).integer(20, 5);
}

WireWriter tensor_attribute(const std::string& name, const WireWriter& tensor) {
  return WireWriter().text(1, name).message(5, tensor).integer(20, 4);
}

WireWriter graph(const Parts& parts) {
  WireWriter result;
  for (const WireWriter& node : parts.nodes) result.message(1, node);
  result.text(2, "g");
  for (const WireWriter& tensor : parts.initializers) result.message(5, tensor);
  for (const WireWriter& input : parts.inputs) result.message(11, input);
  for (const WireWriter& output : parts.outputs) result.message(12, output);
  for (const WireWriter& info : parts.value_info) result.message(13, info);
  return result;
}

std::string model(const Parts& parts) {
  WireWriter result;
  result.integer(1, parts.ir_version).text(2, "hand").message(7, graph(parts));
  result.message(8, WireWriter().text(1, "").integer(2, parts.opset));
  result.text(1000, "a field of the future");
  return result.bytes();
}

Parts small_network() {
  return {.nodes = {node("Add", {"x", "w"}, {"h"}, {}, "add"), node("Relu", {"h"}, {"y"})},
          .initializers = {tensor("w", {1.0F, -2.0F})},
          .inputs = {value_info("x", {"batch", "2"})},
          .outputs = {value_info("y", {"batch", "2"})}};
}

ModelFile parse_text(const std::string& bytes) {
  return parse(std::as_bytes(std::span(bytes)), "model");
}

std::string message_of(const std::function<void()>& f, ErrorCode code) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace lowtide::onnx::toy
