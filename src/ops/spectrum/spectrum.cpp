#include "ops/spectrum/spectrum.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/constant/constant.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

struct Dft {
  std::int64_t length = 0;  // of the transform; the signal is cut to it, or followed by zeros
  std::int64_t in_places = 0;
  std::int64_t in_parts = 2;  // 1: real numbers
  std::int64_t out_parts = 2;
  bool inverse = false;
  bool one_sided = false;  // of real numbers: the other half of the spectrum mirrors this one

  [[nodiscard]] std::int64_t half() const { return length / 2 + 1; }
  [[nodiscard]] std::int64_t out_places() const { return one_sided && !inverse ? half() : length; }
};

// How often a place of a half spectrum stands in the whole one.
double mirrored(const Dft& a, std::int64_t place) {
  const bool alone = place == 0 || 2 * place == a.length;
  return a.one_sided && a.inverse && !alone ? 2.0 : 1.0;
}

// The matrix that takes (place, part) of the signal to (place, part) of the result.
std::vector<double> matrix(const Dft& a) {
  const std::int64_t columns = a.out_places() * a.out_parts;
  std::vector<double> result(static_cast<std::size_t>(a.in_places * a.in_parts * columns), 0.0);
  const double turn = (a.inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(a.length);
  const std::int64_t rows = std::min(a.in_places, a.one_sided && a.inverse ? a.half() : a.length);
  for (std::int64_t n = 0; n < rows; ++n) {
    const double weight = mirrored(a, n) / (a.inverse ? static_cast<double>(a.length) : 1.0);
    for (std::int64_t k = 0; k < a.out_places(); ++k) {
      const double angle = turn * static_cast<double>(n * k % a.length);
      const double real = weight * std::cos(angle);
      const double imaginary = weight * std::sin(angle);
      double* const to =
          &result[static_cast<std::size_t>(n * a.in_parts * columns + k * a.out_parts)];
      to[0] = real;
      if (a.out_parts == 2) to[1] = imaginary;
      if (a.in_parts == 1) continue;
      to[columns] = -imaginary;
      if (a.out_parts == 2) to[columns + 1] = real;
    }
  }
  return result;
}

// Along the axis before the last one, which holds the parts of the numbers.
ValueId dft(GraphBuilder& b, ValueId x, Dft a) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
  std::vector<std::int64_t> dims = b.type(x).shape.dims();
  a.in_parts = dims.back();
  a.in_places = dims[dims.size() - 2];
  a.out_parts = a.one_sided && a.inverse ? 1 : 2;
  const std::int64_t rows = a.in_places * a.in_parts;
  const std::int64_t columns = a.length * 2;
  if (a.length < 1 || a.length > kMostElements || (rows > 0 && columns > kMostElements / rows)) {
    throw fail(ErrorCode::kUnsupported, "a transform of length {}", a.length);
  }
  dims.resize(dims.size() - 2);
  std::vector<std::int64_t> flat = dims;
  flat.push_back(rows);
  const ValueId factor =
      numbers(b, b.type(x).dtype, Shape{rows, a.out_places() * a.out_parts}, matrix(a));
  const ValueId y = matmul(b, reshape(b, x, Shape(std::move(flat))), factor);
  dims.insert(dims.end(), {a.out_places(), a.out_parts});
  return reshape(b, y, Shape(std::move(dims)));
}

// Exchanges two axes; its own inverse.
ValueId exchanged(GraphBuilder& b, ValueId x, std::size_t i, std::size_t k) {
  if (i == k) return x;
  std::vector<std::size_t> order(b.type(x).shape.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order[i], order[k]);
  return transpose(b, x, std::move(order));
}

std::optional<std::int64_t> whole(const OnnxNode& node, std::size_t input) {
  const auto given = node.constant_integers(input);
  if (!given) return std::nullopt;
  if (given->size() != 1) throw fail(ErrorCode::kInvalidFile, "input {} is no number", input);
  return given->front();
}

void check_signal(const core::TensorType& type) {
  const Shape& shape = type.shape;
  const bool parts =
      shape.rank() >= 2 && (shape[shape.rank() - 1] == 1 || shape[shape.rank() - 1] == 2);
  if (!parts || !core::is_float(type.dtype)) {
    throw fail(ErrorCode::kInvalidFile, "{} is no signal", type.str());
  }
}

}  // namespace

// The axis is an attribute (default 1) before opset 20 and an input (default -2) from then on.
std::vector<ValueId> read_dft(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  check_signal(b.type(x));
  const Shape shape = b.type(x).shape;
  const std::int64_t given =
      node.opset() < 20 ? node.integer("axis", 1) : whole(node, 2).value_or(-2);
  const std::size_t axis = core::normalized_axis(given, shape.rank());
  const std::size_t last = shape.rank() - 2;
  if (axis > last) throw fail(ErrorCode::kInvalidFile, "a transform along the numbers' parts");
  Dft a{.inverse = node.integer("inverse", 0) != 0, .one_sided = node.integer("onesided", 0) != 0};
  const std::int64_t natural = a.inverse && a.one_sided ? 2 * (shape[axis] - 1) : shape[axis];
  a.length = whole(node, 1).value_or(natural);
  return {exchanged(b, dft(b, exchanged(b, x, axis, last), a), axis, last)};
}

std::vector<ValueId> read_stft(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  check_signal(b.type(x));
  const std::int64_t length = b.type(x).shape[1];
  const std::int64_t step = whole(node, 1).value_or(0);
  const ValueId window = node.input(2);
  const std::int64_t frame =
      whole(node, 3).value_or(window.valid() ? b.type(window).shape.elements() : 0);
  if (step < 1 || frame < 1 || frame > length) {
    throw fail(ErrorCode::kInvalidFile, "frames of {} every {} in {}", frame, step, length);
  }
  const std::int64_t frames = (length - frame) / step + 1;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < frames; ++i) {
    for (std::int64_t k = 0; k < frame; ++k) places.push_back(i * step + k);
  }
  ValueId cut = gather(b, x, b.constant(Shape{frames, frame}, places), 1);
  if (window.valid()) cut = mul(b, cut, reshape(b, window, Shape{frame, 1}));
  const bool one_sided = node.integer("onesided", 1) != 0;
  return {dft(b, cut, {.length = frame, .one_sided = one_sided})};
}

}  // namespace lowtide::ops
