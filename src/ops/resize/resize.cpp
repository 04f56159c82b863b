#include "ops/resize/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/resize/resize_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;
using core::Shape;

// In the order of the enums.
constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 7> kCoordinates = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr std::array<std::string_view, 4> kRoundings = {"round_prefer_floor", "round_prefer_ceil",
                                                        "floor", "ceil"};

template <class E, std::size_t kCount>
E named(const std::array<std::string_view, kCount>& names, const std::string& name) {
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw fail(ErrorCode::kInvalidFile, "Resize knows no \"{}\"", name);
  return static_cast<E>(found - names.begin());
}

template <class E, std::size_t kCount>
std::string name_of(const std::array<std::string_view, kCount>& names, E value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

Shape resized_shape(const Resize& a, Shape shape) {
  for (const ResizeAxis& axis : a.axes) {
    const bool to_something =
        axis.size > 0 && axis.scale > 0 && axis.axis < shape.rank() && shape[axis.axis] > 0;
    const bool possible = to_something || (axis.size == 0 && axis.axis < shape.rank());
    if (!possible) {
      throw fail(ErrorCode::kInvalidArgument, "cannot resize axis {} of {} to {} by {}", axis.axis,
                 shape.str(), axis.size, axis.scale);
    }
    shape = shape.with(axis.axis, axis.size);
  }
  return shape;
}

std::vector<TensorType> infer(const Resize& a, Types in) {
  if (!core::is_float(in[0].dtype) && a.mode != ResizeMode::kNearest) {
    throw fail(ErrorCode::kInvalidArgument, "cannot interpolate {}", in[0].str());
  }
  return {{in[0].dtype, resized_shape(a, in[0].shape), in[0].layout}};
}

std::vector<TensorType> infer_gradient(const ResizeGradient& a, Types in) {
  LT_CHECK(resized_shape(a.resize, a.shape) == in[0].shape, "the gradient of another resizing");
  return {{in[0].dtype, a.shape, in[0].layout}};
}

InputGradients gradient(const Resize& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const TensorType x = g.type(g.in(0));
  return {b.add_one(resize_gradient_op(), Attrs::of(ResizeGradient{.resize = a, .shape = x.shape}),
                    {to_layout(b, g.out_gradient(0), x.layout)})};
}

// Two operations for each tap of each place of the result.
Cost cost_of(const Resize& a, const Shape& result, const Signature& types) {
  double flops = 2.0 * static_cast<double>(result.elements());
  for (const ResizeAxis& axis : a.axes) {
    const double squeeze = a.antialias ? std::min(axis.scale, 1.0) : 1.0;
    if (a.mode == ResizeMode::kLinear) flops *= 2 / squeeze;
    if (a.mode == ResizeMode::kCubic) flops *= 4 / squeeze;
  }
  return {.flops = flops, .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

Cost cost(const Resize& a, const Signature& types) { return cost_of(a, types.out[0].shape, types); }

Cost cost_of_gradient(const ResizeGradient& a, const Signature& types) {
  return cost_of(a.resize, types.in[0].shape, types);
}

bool stays(const Resize& a, const ResizeAxis& axis, std::int64_t length) {
  const bool whole =
      a.coordinates != Coordinates::kTfCropAndResize || (axis.begin == 0 && axis.end == 1);
  return whole && axis.scale == 1 && axis.size == length;
}

// Which axes, and to what lengths: by scales or by sizes.
std::vector<ResizeAxis> axes_by_scales(const std::vector<double>& scales,
                                       const std::vector<std::size_t>& axes,
                                       const Shape& x) {
  std::vector<ResizeAxis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double size = std::floor(static_cast<double>(x[axes[i]]) * scales[i]);
    if (!(size >= 0 && size < 1e15)) {
      throw fail(ErrorCode::kInvalidFile, "Resize of {} by {}", x.str(), scales[i]);
    }
    result.push_back(
        {.axis = axes[i], .size = static_cast<std::int64_t>(size), .scale = scales[i]});
  }
  return result;
}

// With a policy other than "stretch" all axes get one scale: the least or the largest of theirs.
std::vector<ResizeAxis> axes_by_sizes(const std::vector<std::int64_t>& sizes,
                                      const std::vector<std::size_t>& axes,
                                      const Shape& x,
                                      const std::string& policy) {
  std::vector<ResizeAxis> result;
  std::vector<double> scales;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t length = x[axes[i]];
    scales.push_back(length == 0 ? 1.0
                                 : static_cast<double>(sizes[i]) / static_cast<double>(length));
    result.push_back({.axis = axes[i], .size = sizes[i], .scale = scales.back()});
  }
  if (policy == "stretch" || axes.empty()) return result;
  if (policy != "not_larger" && policy != "not_smaller") {
    throw fail(ErrorCode::kInvalidFile, "unknown keep_aspect_ratio_policy \"{}\"", policy);
  }
  const double scale = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                              : *std::max_element(scales.begin(), scales.end());
  for (ResizeAxis& axis : result) {
    axis.scale = scale;
    axis.size =
        static_cast<std::int64_t>(std::floor(scale * static_cast<double>(x[axis.axis]) + 0.5));
  }
  return result;
}

std::vector<std::size_t> read_axes(const OnnxNode& node, std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (!node.has("axes")) return axes;
  axes.clear();
  for (const std::int64_t axis : node.integers("axes")) {
    axes.push_back(core::normalized_axis(axis, rank));
  }
  return axes;
}

// Regions to crop: all begins, then all ends.
void read_regions(OnnxNode& node, std::vector<ResizeAxis>& axes) {
  const auto regions = node.constant_reals(1);
  if (!regions || regions->size() != 2 * axes.size()) {
    throw fail(ErrorCode::kInvalidFile, "tf_crop_and_resize needs a region of {} numbers",
               2 * axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].begin = (*regions)[i];
    axes[i].end = (*regions)[axes.size() + i];
  }
}

// The axes of a node of opset 11 or later: (x, regions, scales, sizes).
std::vector<ResizeAxis> read_sizes(OnnxNode& node, const Shape& x) {
  const std::vector<std::size_t> axes = read_axes(node, x.rank());
  const auto scales = node.constant_reals(2);
  if (scales && scales->size() == axes.size() && !axes.empty()) {
    return axes_by_scales(*scales, axes, x);
  }
  const auto sizes = node.constant_integers(3);
  if (!sizes || sizes->size() != axes.size()) {
    throw fail(ErrorCode::kInvalidFile, "Resize of {} needs {} scales or sizes", x.str(),
               axes.size());
  }
  return axes_by_sizes(*sizes, axes, x, node.string("keep_aspect_ratio_policy", "stretch"));
}

// Upsample, and Resize of opset 10: (x, scales); the scales are an attribute before opset 9.
std::vector<ValueId> read_upsample(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const Shape shape = b.type(x).shape;
  std::vector<double> scales;
  if (node.has("scales")) {
    const std::vector<float> given = node.reals("scales");
    scales.assign(given.begin(), given.end());
  } else if (const auto given = node.constant_reals(1)) {
    scales = *given;
  }
  if (scales.size() != shape.rank()) {
    throw fail(ErrorCode::kInvalidFile, "{} scales for {}", scales.size(), shape.str());
  }
  const std::string mode = node.string("mode", "nearest");
  return {resize(b, x,
                 {.mode = named<ResizeMode>(kModes, mode == "bilinear" ? "linear" : mode),
                  .coordinates = Coordinates::kAsymmetric,
                  .rounding = NearestRounding::kFloor,
                  .axes = axes_by_scales(scales, read_axes(node, shape.rank()), shape)})};
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  if (node.opset() < 11) return read_upsample(node);
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  Resize a{.mode = named<ResizeMode>(kModes, node.string("mode", "nearest")),
           .coordinates = named<Coordinates>(
               kCoordinates, node.string("coordinate_transformation_mode", "half_pixel")),
           .rounding = named<NearestRounding>(kRoundings,
                                              node.string("nearest_mode", "round_prefer_floor")),
           .cubic = double{node.real("cubic_coeff_a", -0.75F)},
           .exclude_outside = node.integer("exclude_outside", 0) != 0,
           .antialias = node.integer("antialias", 0) != 0,
           .extrapolation = double{node.real("extrapolation_value", 0)},
           .axes = read_sizes(node, b.type(x).shape)};
  if (a.coordinates == Coordinates::kTfCropAndResize) read_regions(node, a.axes);
  return {resize(b, x, std::move(a))};
}

// All axes by their scales where these give the sizes, else by the sizes where these give the
// scales.
bool add_sizes(OnnxForm& form, const Resize& a, const Shape& x) {
  std::vector<float> scales(x.rank(), 1.0F);
  std::vector<std::int64_t> sizes = x.dims();
  bool by_scales = true;
  bool by_sizes = true;
  for (const ResizeAxis& axis : a.axes) {
    const auto length = static_cast<double>(x[axis.axis]);
    const auto scale = static_cast<float>(axis.scale);
    const auto size = static_cast<double>(axis.size);
    scales[axis.axis] = scale;
    sizes[axis.axis] = axis.size;
    by_scales = by_scales && std::floor(length * double{scale}) == size;
    by_sizes = by_sizes && axis.scale == size / length;
  }
  if (by_scales) {
    form.constant_inputs.emplace_back(std::move(scales));
  } else {
    form.constant_inputs.emplace_back(std::monostate());
    form.constant_inputs.emplace_back(std::move(sizes));
  }
  return by_scales || by_sizes;
}

// Opset 13 took the oldest coordinates away; the symmetric ones depend on a scale more finely than
// ONNX's float can say.
std::optional<OnnxForm> write_onnx(const Resize& a, const Signature& types) {
  const Shape& x = types.in[0].shape;
  if (a.coordinates == Coordinates::kHalfPixelSymmetric ||
      a.coordinates == Coordinates::kTfHalfPixelForNn) {
    return std::nullopt;
  }
  OnnxForm form{
      .type = "Resize",
      .attributes = {{"mode", name_of(kModes, a.mode)},
                     {"coordinate_transformation_mode", name_of(kCoordinates, a.coordinates)},
                     {"nearest_mode", name_of(kRoundings, a.rounding)},
                     {"cubic_coeff_a", static_cast<float>(a.cubic)},
                     {"antialias", std::int64_t{a.antialias}},
                     {"exclude_outside", std::int64_t{a.exclude_outside}},
                     {"extrapolation_value", static_cast<float>(a.extrapolation)}}};
  if (a.coordinates == Coordinates::kTfCropAndResize) {
    std::vector<float> regions(2 * x.rank(), 0.0F);
    std::fill(regions.begin() + static_cast<std::ptrdiff_t>(x.rank()), regions.end(), 1.0F);
    for (const ResizeAxis& axis : a.axes) {
      regions[axis.axis] = static_cast<float>(axis.begin);
      regions[x.rank() + axis.axis] = static_cast<float>(axis.end);
    }
    form.constant_inputs.emplace_back(std::move(regions));
  } else {
    form.constant_inputs.emplace_back(std::monostate());
  }
  if (!add_sizes(form, a, x)) return std::nullopt;
  return form;
}

}  // namespace

const OpDef& resize_op() {
  static const TypedOp<Resize> op{{
      .name = "Resize",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Resize", .read = read_onnx}, {.type = "Upsample", .read = read_upsample}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd", .bind = bind_simd_resize},
                  {.name = "reference", .bind = bind_reference_resize}},
  }};
  return op;
}

const OpDef& resize_gradient_op() {
  static const TypedOp<ResizeGradient> op{{
      .name = "ResizeGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd", .bind = bind_simd_resize_gradient},
                  {.name = "reference", .bind = bind_reference_resize_gradient}},
  }};
  return op;
}

ValueId resize(GraphBuilder& b, ValueId x, Resize attributes) {
  const Shape shape = b.type(x).shape;
  resized_shape(attributes, shape);  // so that what is left out fits too
  std::erase_if(attributes.axes,
                [&](const ResizeAxis& axis) { return stays(attributes, axis, shape[axis.axis]); });
  if (attributes.axes.empty()) return x;
  const bool positions = std::all_of(attributes.axes.begin(), attributes.axes.end(),
                                     [](const ResizeAxis& axis) { return axis.axis >= 2; });
  if (positions) x = to_channels_last(b, x);
  return b.add_one(resize_op(), Attrs::of(std::move(attributes)), {x});
}

}  // namespace lowtide::ops
