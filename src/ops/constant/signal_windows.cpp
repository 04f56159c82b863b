#include "ops/constant/signal_windows.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/text.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"

namespace lowtide::ops {
namespace {

using core::fail;
using graph::OnnxNode;
using graph::ValueId;

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

// w(t) = a0 - a1 cos(2 pi t) + a2 cos(4 pi t) over one period.
std::array<double, 3> cosines(std::string_view window) {
  if (window == "HannWindow") return {0.5, 0.5, 0};
  if (window == "HammingWindow") return {25.0 / 46, 21.0 / 46, 0};
  return {0.42, 0.5, 0.08};
}

}  // namespace

// A periodic window is one of a place more without its last place.
std::vector<ValueId> read_signal_window(OnnxNode& node) {
  const auto size = node.constant_integers(0);
  if (!size || size->size() != 1 || size->front() < 0 || size->front() > kMostElements) {
    throw fail(ErrorCode::kInvalidFile, "{} needs one size", node.type());
  }
  const std::int64_t count = size->front();
  const bool periodic = node.integer("periodic", 1) != 0;
  const auto [a0, a1, a2] = cosines(node.type());
  std::vector<double> window;
  for (std::int64_t i = 0; i < count; ++i) {
    const double place =
        static_cast<double>(i) / static_cast<double>(periodic ? count : std::max(count - 1, 1L));
    const double turn = 2 * std::numbers::pi * place;
    window.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
  }
  const core::DType dtype = dtype_of_onnx(node.integer("output_datatype", 1));
  return {numbers(node.builder(), dtype, core::Shape{count}, window)};
}

std::vector<ValueId> read_eye_like(OnnxNode& node) {
  const core::TensorType& type = node.builder().type(node.required_input(0));
  const core::Shape& shape = type.shape;
  if (shape.rank() != 2 || shape.elements() > kMostElements) {
    throw fail(ErrorCode::kInvalidFile, "EyeLike of {}", type.str());
  }
  const std::int64_t diagonal = node.integer("k", 0);
  std::vector<double> eye(static_cast<std::size_t>(shape.elements()), 0.0);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t column = 0; column < shape[1]; ++column) {
      if (column - row == diagonal) eye[static_cast<std::size_t>(row * shape[1] + column)] = 1;
    }
  }
  const core::DType dtype =
      node.has("dtype") ? dtype_of_onnx(node.integer("dtype", 1)) : type.dtype;
  return {numbers(node.builder(), dtype, shape, eye)};
}

}  // namespace lowtide::ops
