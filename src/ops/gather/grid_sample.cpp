#include "ops/gather/grid_sample.h"

#include <numeric>
#include <string>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

enum class Interpolation : std::uint8_t { kNearest, kLinear, kCubic };
enum class Outside : std::uint8_t { kZeros, kBorder, kReflection };

struct Sampling {
  Interpolation interpolation = Interpolation::kLinear;
  Outside outside = Outside::kZeros;
  bool align_corners = false;  // -1 and 1 are the centres of the outermost pixels, not their edges
};

Sampling read_sampling(const OnnxNode& node) {
  Sampling s{.align_corners = node.integer("align_corners", 0) != 0};
  const std::string mode = node.string("mode", "linear");
  if (mode == "nearest") {
    s.interpolation = Interpolation::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    s.interpolation = Interpolation::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    throw fail(ErrorCode::kUnsupported, "mode '{}'", mode);
  }
  const std::string padding = node.string("padding_mode", "zeros");
  if (padding == "border") {
    s.outside = Outside::kBorder;
  } else if (padding == "reflection") {
    s.outside = Outside::kReflection;
  } else if (padding != "zeros") {
    throw fail(ErrorCode::kUnsupported, "padding_mode '{}'", padding);
  }
  return s;
}

// A pixel that a sample reads along one axis, for every place of the grid.
struct Tap {
  ValueId index;   // int64, within the axis
  ValueId weight;  // what it counts; invalid for 1
};

// The taps along one axis of `length` pixels.
class AxisTaps {
 public:
  AxisTaps(GraphBuilder& b, const Sampling& s, ValueId places, std::int64_t length)
      : b_(b), s_(s), dtype_(b.type(places).dtype), length_(static_cast<double>(length)) {
    const double low = s.align_corners ? 0 : -0.5;
    low_ = low;
    range_ = length_ - 1 - 2 * low;
    // From [-1, 1] to pixels.
    at_ = plus(scale(b, plus(places, 1), range_ / 2), low);
    // A cubic's outer taps meet the border before its middle does.
    if (s.outside == Outside::kBorder && s.interpolation != Interpolation::kCubic) {
      at_ = clip(b, at_, 0, length_ - 1);
    }
    if (s.outside == Outside::kReflection) at_ = reflected(at_);
  }

  [[nodiscard]] std::vector<Tap> taps() const {
    if (s_.interpolation == Interpolation::kNearest) return {tap(round(b_, at_), ValueId())};
    const ValueId first = floor(b_, at_);
    const ValueId after = sub(b_, at_, first);
    const ValueId before = plus(neg(b_, after), 1);
    if (s_.interpolation == Interpolation::kLinear) {
      return {tap(first, before), tap(plus(first, 1), after)};
    }
    return {tap(plus(first, -1), far(after)), tap(first, near(after)),
            tap(plus(first, 1), near(before)), tap(plus(first, 2), far(before))};
  }

 private:
  [[nodiscard]] ValueId plus(ValueId x, double number) const {
    return number == 0 ? x : add(b_, x, scalar(b_, dtype_, number));
  }

  // Back and forth between the borders.
  [[nodiscard]] ValueId reflected(ValueId x) const {
    if (range_ == 0) return scale(b_, x, 0);
    const ValueId distance = plus(x, -low_);
    const ValueId rounds = floor(b_, scale(b_, distance, 1 / (2 * range_)));
    const ValueId rest = sub(b_, distance, scale(b_, rounds, 2 * range_));
    const ValueId from_far = abs(b_, plus(rest, -range_));
    return plus(neg(b_, from_far), range_ + low_);
  }

  // Cubic convolution with a = -3/4: of a pixel at distance t < 1, and of one at 1 + t.
  [[nodiscard]] ValueId near(ValueId t) const {
    const ValueId slope = plus(scale(b_, t, 1.25), -2.25);
    return plus(mul(b_, slope, mul(b_, t, t)), 1);
  }
  [[nodiscard]] ValueId far(ValueId t) const {
    const ValueId rest = plus(neg(b_, t), 1);
    return scale(b_, mul(b_, t, mul(b_, rest, rest)), -0.75);
  }

  [[nodiscard]] Tap tap(ValueId pixel, ValueId weight) const {
    if (s_.outside == Outside::kZeros) {
      const ValueId low = binary(b_, BinaryKind::kGreaterOrEqual, pixel, scalar(b_, dtype_, 0));
      const ValueId high = binary(b_, BinaryKind::kLess, pixel, scalar(b_, dtype_, length_));
      const ValueId inside = cast(b_, binary(b_, BinaryKind::kAnd, low, high), dtype_);
      weight = weight.valid() ? mul(b_, weight, inside) : inside;
    } else if (s_.outside == Outside::kReflection) {
      pixel = round(b_, reflected(pixel));
    }
    return {cast(b_, clip(b_, pixel, 0, length_ - 1), DType::kInt64), weight};
  }

  GraphBuilder& b_;
  const Sampling& s_;
  DType dtype_;
  double length_;
  double low_ = 0;
  double range_ = 0;
  ValueId at_;
};

// The image as rows of channels, one a pixel, and the first row of each sample.
struct Pixels {
  ValueId rows;
  ValueId first;
};

Pixels pixels_of(GraphBuilder& b, ValueId x, std::size_t grid_rank) {
  const Shape shape = b.type(x).shape;
  std::vector<std::size_t> channels_behind = {0};
  for (std::size_t i = 2; i < shape.rank(); ++i) channels_behind.push_back(i);
  channels_behind.push_back(1);
  const std::int64_t pixels = shape[0] * shape[1] == 0 ? 0 : shape.elements() / shape[0] / shape[1];
  std::vector<std::int64_t> firsts;
  for (std::int64_t i = 0; i < shape[0]; ++i) firsts.push_back(i * pixels);
  std::vector<std::int64_t> dims(grid_rank - 1, 1);
  dims[0] = shape[0];
  return {
      reshape(b, to_plain(b, transpose(b, x, channels_behind)), Shape{shape[0] * pixels, shape[1]}),
      b.constant(Shape(dims), firsts)};
}

// The sum over all combinations of taps along the axes from `axis` on.
ValueId sum_of_taps(GraphBuilder& b,
                    const Shape& spatial,
                    const std::vector<std::vector<Tap>>& taps,
                    std::size_t axis,
                    const Tap& so_far,
                    const Pixels& pixels) {
  if (axis == taps.size()) {
    const ValueId read = gather(b, pixels.rows, add(b, so_far.index, pixels.first), 0);
    if (!so_far.weight.valid()) return read;
    std::vector<std::int64_t> dims = b.type(so_far.weight).shape.dims();
    dims.push_back(1);
    return mul(b, read, reshape(b, so_far.weight, Shape(std::move(dims))));
  }
  ValueId sum;
  for (const Tap& tap : taps[axis]) {
    Tap next = tap;
    if (so_far.index.valid()) {
      const ValueId width = scalar(b, DType::kInt64, static_cast<double>(spatial[axis]));
      next.index = add(b, mul(b, so_far.index, width), tap.index);
    }
    if (so_far.weight.valid() && tap.weight.valid()) {
      next.weight = mul(b, so_far.weight, tap.weight);
    }
    const ValueId part = sum_of_taps(b, spatial, taps, axis + 1, next, pixels);
    sum = sum.valid() ? add(b, sum, part) : part;
  }
  return sum;
}

}  // namespace

std::vector<ValueId> read_grid_sample(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const ValueId grid = to_plain(b, node.required_input(1));
  const Shape shape = b.type(x).shape;
  const Shape places = b.type(grid).shape;
  const std::size_t axes = shape.rank() < 2 ? 0 : shape.rank() - 2;
  if (axes < 1 || places.rank() != shape.rank() || places[0] != shape[0] ||
      places[places.rank() - 1] != static_cast<std::int64_t>(axes) || shape.elements() == 0 ||
      b.type(x).dtype != b.type(grid).dtype) {
    throw fail(ErrorCode::kInvalidFile, "{} at {}", b.type(x).str(), b.type(grid).str());
  }
  const Sampling sampling = read_sampling(node);
  const Shape spatial({shape.dims().begin() + 2, shape.dims().end()});
  const Shape each({places.dims().begin(), places.dims().end() - 1});
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = 0; i < axes; ++i) {
    // The grid names the last axis first.
    const auto part = static_cast<std::int64_t>(axes - 1 - i);
    const ValueId along = slice(b, grid, {.starts = {part}, .ends = {part + 1}, .axes = {-1}});
    taps.push_back(AxisTaps(b, sampling, reshape(b, along, each), spatial[i]).taps());
  }
  const ValueId y = sum_of_taps(b, spatial, taps, 0, {}, pixels_of(b, x, places.rank()));
  std::vector<std::size_t> channels_first = {0, axes + 1};
  for (std::size_t i = 1; i <= axes; ++i) channels_first.push_back(i);
  return {transpose(b, y, channels_first)};
}

// theta is (N, axes, axes + 1): the places are theta (x, y, ..., 1).
std::vector<ValueId> read_affine_grid(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId theta = node.required_input(0);
  const auto size = node.constant_integers(1);
  const Shape shape = b.type(theta).shape;
  if (!size || size->size() < 3 || shape.rank() != 3 ||
      shape[1] != static_cast<std::int64_t>(size->size()) - 2) {
    throw fail(ErrorCode::kInvalidFile, "an affine grid by {}", shape.str());
  }
  const Shape spatial({size->begin() + 2, size->end()});
  const bool aligned = node.integer("align_corners", 0) != 0;
  std::vector<double> places;
  for (std::int64_t i = 0; i < spatial.elements(); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = spatial.rank(); axis-- > 0;) {
      const auto length = static_cast<double>(spatial[axis]);
      const auto at = static_cast<double>(rest % spatial[axis]);
      rest /= spatial[axis];
      places.push_back(aligned ? (length == 1 ? -1 : 2 * at / (length - 1) - 1)
                               : (2 * at + 1) / length - 1);
    }
    places.push_back(1);
  }
  const ValueId base = numbers(b, b.type(theta).dtype, Shape{spatial.elements(), shape[2]}, places);
  std::vector<std::int64_t> dims = spatial.dims();
  dims.insert(dims.begin(), shape[0]);
  dims.push_back(shape[1]);
  return {reshape(b, matmul(b, base, theta, {.transpose_b = true}), Shape(std::move(dims)))};
}

}  // namespace lowtide::ops
