#include "ops/constant/constant.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/text.h"
#include "kernels/copy.h"
#include "ops/constant/signal_windows.h"
#include "ops/movement.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const Fill& a, Types) { return {a.type}; }

// Without inputs there is nothing to pass on.
InputGradients gradient(const Fill&, GradientContext&) { return {}; }

Cost cost(const Fill& a, const Signature&) { return {.traffic = a.type.bytes()}; }

void run_fill(const Fill& a, const Signature&, const Run& run) {
  kernels::fill(a.element.data(), core::element_bytes(a.type.dtype).count(), run.out[0],
                a.type.shape.elements());
}

void run_reference(const Fill& a, const Signature&, const Run& run) {
  const std::int64_t bytes = core::element_bytes(a.type.dtype).count();
  for (std::int64_t i = 0; i < a.type.shape.elements(); ++i) {
    std::copy_n(a.element.data(), bytes, run.out[0] + i * bytes);
  }
}

std::vector<ValueId> read_constant_of_shape(OnnxNode& node) {
  const auto dims = node.constant_integers(0);
  if (!dims) throw fail(ErrorCode::kInvalidFile, "ConstantOfShape without a shape");
  Fill attributes{.type = {core::DType::kFloat32, core::Shape(*dims), core::Layout::kPlain}};
  if (const auto element = node.tensor("value")) {
    if (element->type.shape.elements() != 1) {
      throw fail(ErrorCode::kInvalidFile, "ConstantOfShape takes one value, got {}",
                 element->type.str());
    }
    attributes.type.dtype = element->type.dtype;
    std::copy(element->bytes->begin(), element->bytes->end(), attributes.element.begin());
  }
  return {node.builder().add_one(fill_op(), Attrs::of(std::move(attributes)), {})};
}

// start and end (opset 15) count from the back where negative and are cut to the axes there are.
std::vector<ValueId> read_shape(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const core::Shape shape = b.type(node.required_input(0)).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto place = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = place(node.integer("start", 0));
  const std::int64_t end = std::max(start, place(node.integer("end", rank)));
  const std::vector<std::int64_t> dims(shape.dims().begin() + start, shape.dims().begin() + end);
  return {b.constant(core::Shape{end - start}, dims)};
}

std::vector<ValueId> read_size(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::int64_t elements = b.type(node.required_input(0)).shape.elements();
  return {b.constant(core::Shape{}, std::vector<std::int64_t>{elements})};
}

// Only of constants: how many there are is the result's shape.
std::vector<ValueId> read_non_zero(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const core::TensorType type = b.type(node.required_input(0));
  std::vector<bool> counts;
  const auto note = [&](const auto& elements) {
    for (const auto element : elements) counts.push_back(element != 0);
  };
  if (core::is_float(type.dtype)) {
    note(node.constant_reals(0).value());
  } else {
    note(node.constant_integers(0).value());
  }
  std::vector<std::vector<std::int64_t>> places(type.shape.rank());
  std::size_t element = 0;
  for (Index at(type.shape); at.valid(); at.next()) {
    if (!counts[element++]) continue;
    for (std::size_t axis = 0; axis < places.size(); ++axis) places[axis].push_back(at[axis]);
  }
  std::vector<std::int64_t> all;
  for (const auto& line : places) all.insert(all.end(), line.begin(), line.end());
  const auto rank = static_cast<std::int64_t>(places.size());
  const std::int64_t count = rank == 0 ? 0 : static_cast<std::int64_t>(places[0].size());
  return {b.constant({rank, count}, all)};
}

// The elements of a range; empty where the step leads away from the limit.
template <class T>
std::vector<T> range(T start, T limit, T delta) {
  constexpr double kMost = 1e8;
  const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                 static_cast<double>(delta));
  if (!(count <= kMost)) {
    throw fail(ErrorCode::kInvalidFile, "Range from {} to {} by {} is too long", start, limit,
               delta);
  }
  std::vector<T> elements;
  for (double i = 0; i < count; ++i) {
    elements.push_back(static_cast<T>(start + static_cast<T>(i) * delta));
  }
  return elements;
}

template <class T, class Source>
ValueId range_constant(OnnxNode& node, const std::optional<std::vector<Source>> (&ends)[3]) {
  for (const auto& end : ends) {
    if (!end || end->size() != 1) {
      throw fail(ErrorCode::kInvalidFile, "Range needs one start, one limit and one delta");
    }
  }
  const auto elements = range<T>(static_cast<T>(ends[0]->front()), static_cast<T>(ends[1]->front()),
                                 static_cast<T>(ends[2]->front()));
  const core::Shape shape{static_cast<std::int64_t>(elements.size())};
  return node.builder().constant(shape, elements);
}

std::vector<ValueId> read_range(OnnxNode& node) {
  switch (node.builder().type(node.required_input(0)).dtype) {
    case core::DType::kFloat32:
      return {range_constant<float, double>(
          node, {node.constant_reals(0), node.constant_reals(1), node.constant_reals(2)})};
    case core::DType::kFloat64:
      return {range_constant<double, double>(
          node, {node.constant_reals(0), node.constant_reals(1), node.constant_reals(2)})};
    case core::DType::kInt32:
      return {range_constant<std::int32_t, std::int64_t>(
          node, {node.constant_integers(0), node.constant_integers(1), node.constant_integers(2)})};
    case core::DType::kInt64:
      return {range_constant<std::int64_t, std::int64_t>(
          node, {node.constant_integers(0), node.constant_integers(1), node.constant_integers(2)})};
    default:
      throw fail(ErrorCode::kUnsupported, "Range over {}",
                 core::name(node.builder().type(node.required_input(0)).dtype));
  }
}

}  // namespace

const OpDef& fill_op() {
  static const TypedOp<Fill> op{{
      .name = "Fill",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "ConstantOfShape", .read = read_constant_of_shape},
               {.type = "EyeLike", .read = read_eye_like},
               {.type = "HannWindow", .read = read_signal_window},
               {.type = "HammingWindow", .read = read_signal_window},
               {.type = "BlackmanWindow", .read = read_signal_window},
               {.type = "NonZero", .read = read_non_zero},
               {.type = "Range", .read = read_range},
               {.type = "Shape", .read = read_shape},
               {.type = "Size", .read = read_size}},
      .kernels = {{.name = "fill", .run = run_fill}, {.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId fill(GraphBuilder& b, core::TensorType type, double value) {
  const auto element = literal_of(type.dtype, value);
  return b.add_one(fill_op(), Attrs::of(Fill{.type = std::move(type), .element = element}), {});
}

double constant_number(OnnxNode& node, std::size_t input) {
  const core::TensorType type = node.builder().type(node.required_input(input));
  if (type.shape.elements() != 1) {
    throw fail(ErrorCode::kInvalidFile, "input {} must be one number, not {}", input, type.str());
  }
  if (core::is_float(type.dtype)) return node.constant_reals(input)->front();
  return static_cast<double>(node.constant_integers(input)->front());
}

ValueId zeros(GraphBuilder& b, core::TensorType type) { return fill(b, std::move(type), 0); }

ValueId scalar(GraphBuilder& b, core::DType dtype, double value) {
  return numbers(b, dtype, core::Shape(), {value});
}

ValueId numbers(GraphBuilder& b,
                core::DType dtype,
                const core::Shape& shape,
                const std::vector<double>& values) {
  const auto width = static_cast<std::size_t>(core::element_bytes(dtype).count());
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * width);
  for (const double value : values) {
    const auto element = literal_of(dtype, value);
    bytes.insert(bytes.end(), element.begin(), element.begin() + static_cast<long>(width));
  }
  return b.constant({{dtype, shape, core::Layout::kPlain},
                     std::make_shared<const std::vector<std::byte>>(std::move(bytes))});
}

}  // namespace lowtide::ops
