#include "conformance/gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "autodiff/differentiate.h"
#include "core/text.h"
#include "graph/builder.h"
#include "graph/evaluate.h"

namespace lowtide::conformance {
namespace {

using core::DType;
using graph::ConstantTensor;
using graph::ValueId;
using Tensors = std::map<ValueId, ConstantTensor>;

constexpr core::Machine kReference{.threads = 1, .isa = core::Isa::kReference};
constexpr std::int64_t kOnnxFloat = 1;
constexpr std::int64_t kOnnxDouble = 11;

// ---- The same test in float64

void widen(core::TensorType& type, std::shared_ptr<const std::vector<std::byte>>& bytes) {
  if (type.dtype != DType::kFloat32) return;
  const auto* const narrow = reinterpret_cast<const float*>(bytes->data());
  std::vector<std::byte> wide(static_cast<std::size_t>(type.shape.elements()) * sizeof(double));
  for (std::size_t i = 0; i < wide.size() / sizeof(double); ++i) {
    const double number = static_cast<double>(narrow[i]);
    std::memcpy(wide.data() + i * sizeof(double), &number, sizeof(double));
  }
  type.dtype = DType::kFloat64;
  bytes = std::make_shared<const std::vector<std::byte>>(std::move(wide));
}

void widen(onnx::TensorRef& tensor) {
  tensor.bytes = onnx::load(tensor);
  tensor.file.clear();
  widen(tensor.type, tensor.bytes);
}

onnx::TensorRef wide_tensor(const core::Shape& shape, const std::vector<float>& elements) {
  const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
  onnx::TensorRef tensor;
  tensor.type = {DType::kFloat32, shape, core::Layout::kPlain};
  tensor.bytes = std::make_shared<const std::vector<std::byte>>(
      first, first + elements.size() * sizeof(float));
  widen(tensor);
  return tensor;
}

void widen(onnx::FileGraph& graph);

// Attributes that are tensors, or name an element type.
void widen(onnx::Attribute& attribute, const std::string& op_type) {
  if (auto* const tensor = std::get_if<onnx::TensorRef>(&attribute.value)) widen(*tensor);
  if (auto* const code = std::get_if<std::int64_t>(&attribute.value)) {
    const bool is_type = attribute.name == "to" || attribute.name.ends_with("dtype");
    if (is_type && *code == kOnnxFloat) *code = kOnnxDouble;
  }
  if (auto* const inner = std::get_if<std::shared_ptr<const onnx::FileGraph>>(&attribute.value)) {
    onnx::FileGraph wide = **inner;
    widen(wide);
    *inner = std::make_shared<const onnx::FileGraph>(std::move(wide));
  }
  if (op_type != "Constant") return;
  if (const auto* const number = std::get_if<float>(&attribute.value)) {
    attribute.value = wide_tensor(core::Shape(), {*number});
  } else if (const auto* const list = std::get_if<std::vector<float>>(&attribute.value)) {
    attribute.value = wide_tensor(core::Shape{static_cast<std::int64_t>(list->size())}, *list);
  }
}

void widen(onnx::FileGraph& graph) {
  for (onnx::TensorRef& tensor : graph.initializers) widen(tensor);
  for (onnx::ValueInfo& input : graph.inputs) {
    if (input.dtype == DType::kFloat32) input.dtype = DType::kFloat64;
  }
  for (onnx::FileNode& node : graph.nodes) {
    for (onnx::Attribute& attribute : node.attributes) widen(attribute, node.type);
  }
}

NodeTest in_float64(NodeTest test) {
  widen(test.file.graph);
  for (ConstantTensor& input : test.inputs) widen(input.type, input.bytes);
  return test;
}

// ---- The gradient of a sum of all outputs

struct Subject {
  graph::Graph graph;
  graph::Graph forward;            // without the gradients
  std::vector<ValueId> inputs;     // of float type
  std::vector<ValueId> gradients;  // invalid where no output depends on the input
  std::vector<std::pair<ValueId, std::vector<double>>> weighted;  // outputs
  Tensors given;
};

const double* reals(const ConstantTensor& tensor) { return tensor.data<double>(); }

std::size_t count(const ConstantTensor& tensor) {
  return static_cast<std::size_t>(tensor.type.shape.elements());
}

// Differs from element to element, so that no gradient vanishes by symmetry.
std::vector<double> weights(std::size_t count) {
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(1 + 0.5 * std::sin(1.7 * static_cast<double>(i) + 0.3));
  }
  return result;
}

Subject make_subject(const NodeTest& test) {
  BoundTest bound = bind_test(test);
  Subject subject{.graph = std::move(bound.model.graph)};
  graph::GraphBuilder builder(subject.graph);
  for (std::size_t i = 0; i < bound.data_inputs.size(); ++i) {
    const ValueId input = subject.graph.inputs()[i];
    subject.given.emplace(input, test.inputs[bound.data_inputs[i]]);
    if (builder.type(input).dtype == DType::kFloat64) subject.inputs.push_back(input);
  }
  std::vector<autodiff::Seed> seeds;
  for (const ValueId output : subject.graph.outputs()) {
    const core::TensorType type = builder.type(output);
    if (type.dtype != DType::kFloat64) continue;
    const auto elements = static_cast<std::size_t>(type.shape.elements());
    subject.weighted.emplace_back(output, weights(elements));
    const ValueId seed = builder.constant(type.shape, subject.weighted.back().second);
    seeds.push_back({output, seed});
  }
  if (seeds.empty() || subject.inputs.empty()) {
    throw core::fail(ErrorCode::kUnsupported, "nothing to differentiate");
  }
  subject.forward = subject.graph;
  subject.gradients = autodiff::differentiate(builder, seeds, subject.inputs);
  return subject;
}

double objective(const Subject& subject, const Tensors& values) {
  double sum = 0;
  for (const auto& [output, weight] : subject.weighted) {
    const ConstantTensor& tensor = values.at(output);
    for (std::size_t i = 0; i < weight.size(); ++i) sum += reals(tensor)[i] * weight[i];
  }
  return sum;
}

double objective_moved(const Subject& subject, ValueId input, std::size_t at, double by) {
  Tensors given = subject.given;
  ConstantTensor& tensor = given.at(input);
  std::vector<std::byte> bytes = *tensor.bytes;
  const double number = reals(tensor)[at] + by;
  std::memcpy(bytes.data() + at * sizeof(double), &number, sizeof(double));
  tensor.bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return objective(subject, graph::interpret(subject.forward, std::move(given), kReference));
}

bool all_finite(std::initializer_list<double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

void check_element(const Subject& subject,
                   ValueId input,
                   std::size_t at,
                   double middle,
                   double gradient,
                   GradientCheck& result) {
  constexpr double kMove = 1e-5;
  constexpr double kBend = 1e-2;
  constexpr double kTolerance = 1e-5;
  const double up = objective_moved(subject, input, at, kMove);
  const double down = objective_moved(subject, input, at, -kMove);
  const double right = (up - middle) / kMove;
  const double left = (middle - down) / kMove;
  const double scale = std::max({1.0, std::abs(left), std::abs(right)});
  if (!all_finite({up, down, middle}) || std::abs(right - left) > kBend * scale) {
    ++result.kinks;
    return;
  }
  ++result.elements;
  const double difference = (up - down) / (2 * kMove);
  if (std::abs(gradient - difference) <= kTolerance * scale || !result.detail.empty()) return;
  result.detail = core::text("gradient of '{}' at element {} is {}, by differences {}",
                             subject.graph.value(input).name, at, gradient, difference);
}

}  // namespace

GradientCheck check_gradient(const NodeTest& test) {
  constexpr std::size_t kSamples = 4;
  const Subject subject = make_subject(in_float64(test));
  const Tensors values = graph::interpret(subject.graph, subject.given, kReference);
  const double middle = objective(subject, values);
  GradientCheck result;
  for (std::size_t k = 0; k < subject.inputs.size(); ++k) {
    if (!subject.gradients[k].valid()) continue;
    const ConstantTensor& gradient = values.at(subject.gradients[k]);
    const std::size_t elements = count(gradient);
    for (std::size_t s = 0; s < std::min(elements, kSamples); ++s) {
      const std::size_t at = s * elements / std::min(elements, kSamples);
      check_element(subject, subject.inputs[k], at, middle, reals(gradient)[at], result);
    }
  }
  return result;
}

}  // namespace lowtide::conformance
