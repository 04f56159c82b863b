#include "ops/slice/slice.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/movement.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

// What one axis of the result takes from the sliced tensor.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t length = 0;

  bool operator==(const Stretch&) const = default;
};

// A place along an axis of `dim` elements, counted from the front and cut to [low, high].
std::int64_t place(std::int64_t at, std::int64_t dim, std::int64_t low, std::int64_t high) {
  return std::clamp(at < 0 ? at + dim : at, low, high);
}

Stretch resolve_axis(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t dim) {
  if (dim == 0) return {};
  if (step > 0) {
    const std::int64_t first = place(start, dim, 0, dim);
    const std::int64_t last = std::max(first, place(end, dim, 0, dim));
    return {first, step, (last - first) / step + ((last - first) % step != 0 ? 1 : 0)};
  }
  // Downwards the end is exclusive too, so -1 (beyond the front, after counting from the back) is
  // the lowest.
  const std::int64_t first = place(start, dim, 0, dim - 1);
  const std::int64_t last = std::min(first, place(end, dim, -1, dim - 1));
  return {first, step, (last - first) / step + ((last - first) % step != 0 ? 1 : 0)};
}

std::vector<Stretch> resolve(const Slice& a, const core::Shape& shape) {
  const std::size_t count = a.starts.size();
  if (a.ends.size() != count || (!a.axes.empty() && a.axes.size() != count) ||
      (!a.steps.empty() && a.steps.size() != count) || count > shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument,
               "cannot slice {}: {} starts, {} ends, {} axes and {} steps", shape.str(), count,
               a.ends.size(), a.axes.size(), a.steps.size());
  }
  std::vector<Stretch> stretches;
  for (const std::int64_t dim : shape.dims()) stretches.push_back({0, 1, dim});
  std::vector<bool> sliced(shape.rank(), false);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = a.axes.empty() ? i : core::normalized_axis(a.axes[i], shape.rank());
    const std::int64_t step = a.steps.empty() ? 1 : a.steps[i];
    if (step == 0 || sliced[axis]) {
      throw fail(ErrorCode::kInvalidArgument, "cannot slice {} along axis {}: {}", shape.str(),
                 axis, step == 0 ? "a step of 0" : "named twice");
    }
    sliced[axis] = true;
    stretches[axis] = resolve_axis(a.starts[i], a.ends[i], step, shape[axis]);
  }
  return stretches;
}

core::Shape shape_of(const std::vector<Stretch>& stretches) {
  std::vector<std::int64_t> dims;
  for (const Stretch& stretch : stretches) dims.push_back(stretch.length);
  return core::Shape(std::move(dims));
}

View view_of_stretches(const std::vector<Stretch>& stretches, const TensorType& type) {
  View view = view_of(type);
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    // Without places there may be no first one either.
    if (stretches[i].length == 0) continue;
    view.first += stretches[i].start * view.strides[i];
    view.strides[i] *= stretches[i].length > 1 ? stretches[i].step : 1;
  }
  return view;
}

std::vector<TensorType> infer(const Slice& a, Types in) {
  return {{in[0].dtype, shape_of(resolve(a, in[0].shape)), in[0].layout}};
}

InputGradients gradient(const Slice& a, GradientContext& g) {
  return {g.builder().add_one(slice_gradient_op(),
                              Attrs::of(SliceGradient{.slice = a, .shape = g.type(g.in(0)).shape}),
                              {g.out_gradient(0)})};
}

std::vector<Movement> movements(const Slice& a, const Signature& types) {
  return {{.dims = types.out[0].shape.dims(),
           .from = view_of_slice(a, types.in[0]),
           .to = view_of(types.out[0])}};
}

std::vector<TensorType> infer_gradient(const SliceGradient& a, Types in) {
  LT_CHECK(shape_of(resolve(a.slice, a.shape)) == in[0].shape, "the gradient of another slice");
  return {{in[0].dtype, a.shape, in[0].layout}};
}

// Zeros below and above the stretch of each axis in turn (along the axes before it only beside the
// slice itself, along those after it everywhere), so that each element is written once.
std::vector<Movement> zeros_around(const std::vector<Stretch>& stretches, const TensorType& type) {
  std::vector<Movement> all;
  std::vector<std::int64_t> dims = type.shape.dims();
  View inside = view_of(type);
  for (std::size_t axis = 0; axis < stretches.size(); ++axis) {
    const std::int64_t stride = inside.strides[axis];
    const std::int64_t end = stretches[axis].start + stretches[axis].length;
    const auto add = [&](std::int64_t from, std::int64_t to) {
      if (from == to) return;
      Movement zeros{.dims = dims,
                     .input = Movement::kLiteral,
                     .from = {0, std::vector<std::int64_t>(dims.size(), 0)},
                     .to = inside};
      zeros.dims[axis] = to - from;
      zeros.to.first += from * stride;
      all.push_back(std::move(zeros));
    };
    add(0, stretches[axis].start);
    add(end, type.shape[axis]);
    dims[axis] = stretches[axis].length;
    inside.first += stretches[axis].start * stride;
  }
  return all;
}

std::vector<Movement> gradient_movements(const SliceGradient& a, const Signature& types) {
  const std::vector<Stretch> stretches = resolve(a.slice, a.shape);
  const bool in_one_piece =
      std::all_of(stretches.begin(), stretches.end(),
                  [](const Stretch& stretch) { return stretch.step == 1 && stretch.length > 0; });
  // A slice with gaps goes into a tensor that was zeroed as a whole.
  std::vector<Stretch> zeroed = stretches;
  if (!in_one_piece) std::fill(zeroed.begin(), zeroed.end(), Stretch{});
  std::vector<Movement> all = zeros_around(zeroed, types.out[0]);
  // The copy walks the target upwards where the slice ran down.
  Movement put{.dims = types.in[0].shape.dims(),
               .from = view_of(types.in[0]),
               .to = view_of_stretches(stretches, types.out[0])};
  for (std::size_t i = 0; i < put.dims.size(); ++i) {
    if (put.to.strides[i] >= 0) continue;
    put.to.first += (put.dims[i] - 1) * put.to.strides[i];
    put.from.first += (put.dims[i] - 1) * put.from.strides[i];
    put.to.strides[i] *= -1;
    put.from.strides[i] *= -1;
  }
  all.push_back(std::move(put));
  return all;
}

// Attributes before opset 10, inputs from then on.
std::vector<ValueId> read_onnx(OnnxNode& node) {
  const ValueId x = node.required_input(0);
  Slice attributes;
  if (node.has("starts")) {
    attributes.starts = node.integers("starts");
    attributes.ends = node.integers("ends");
    if (node.has("axes")) attributes.axes = node.integers("axes");
  } else {
    const auto starts = node.constant_integers(1);
    const auto ends = node.constant_integers(2);
    if (!starts || !ends) throw fail(ErrorCode::kInvalidFile, "Slice without starts and ends");
    attributes.starts = *starts;
    attributes.ends = *ends;
    attributes.axes = node.constant_integers(3).value_or(std::vector<std::int64_t>{});
    attributes.steps = node.constant_integers(4).value_or(std::vector<std::int64_t>{});
  }
  return {slice(node.builder(), x, std::move(attributes))};
}

std::optional<OnnxForm> write_onnx(const Slice& a, const Signature&) {
  std::vector<std::int64_t> axes = a.axes;
  for (std::size_t i = axes.size(); i < a.starts.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  OnnxForm form{.type = "Slice", .constant_inputs = {a.starts, a.ends, std::move(axes)}};
  if (!a.steps.empty()) form.constant_inputs.push_back(a.steps);
  return form;
}

}  // namespace

View view_of_slice(const Slice& a, const TensorType& type) {
  return view_of_stretches(resolve(a, type.shape), type);
}

const OpDef& slice_op() {
  static const TypedOp<Slice> op{{
      .name = "Slice",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Slice>,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Slice", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {copies<Slice, movements>(), element_by_element<Slice, movements>()},
  }};
  return op;
}

const OpDef& slice_gradient_op() {
  static const TypedOp<SliceGradient> op{{
      .name = "SliceGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_moving<SliceGradient>,
      .repeat = Repeat::kExact,
      .kernels = {copies<SliceGradient, gradient_movements>(),
                  element_by_element<SliceGradient, gradient_movements>()},
  }};
  return op;
}

ValueId slice(GraphBuilder& b, ValueId x, Slice attributes) {
  const core::Shape& shape = b.type(x).shape;
  if (resolve(attributes, shape) == resolve({}, shape)) return x;
  return b.add_one(slice_op(), Attrs::of(std::move(attributes)), {x});
}

}  // namespace lowtide::ops
