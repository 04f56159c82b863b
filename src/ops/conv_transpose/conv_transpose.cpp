#include "ops/conv_transpose/conv_transpose.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/conv/conv_kernels.h"
#include "ops/conv_transpose/col2im.h"
#include "ops/layout/layout.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;
using core::Shape;
using kernels::ConvolutionPass;
using Sizes = std::vector<std::int64_t>;

std::vector<TensorType> infer(const ConvTranspose& a, Types in) {
  const TensorType& x = in[0];
  const TensorType& w = in[1];
  if (!core::is_float(x.dtype) || w.dtype != x.dtype || x.layout != Layout::kChannelsLast ||
      w.layout != Layout::kPlain || w.shape.rank() != x.shape.rank() || a.conv.groups < 1 ||
      w.shape[0] != x.shape[1] || w.shape[0] % a.conv.groups != 0) {
    throw fail(ErrorCode::kInvalidArgument, "cannot convolve {} with transposed {} in {} groups",
               x.str(), w.str(), a.conv.groups);
  }
  Sizes dims = a.spatial;
  dims.insert(dims.begin(), {x.shape[0], w.shape[1] * a.conv.groups});
  Shape y(std::move(dims));
  const Sizes counts = window_counts(window_of(a.conv), y, Rounding::kDown);
  if (!std::equal(counts.begin(), counts.end(), x.shape.dims().begin() + 2)) {
    throw fail(ErrorCode::kInvalidArgument, "{} is not what a convolution makes of {}", x.str(),
               y.str());
  }
  if (a.conv.bias && (in[2].dtype != x.dtype || in[2].shape != Shape{y[1]})) {
    throw fail(ErrorCode::kInvalidArgument, "a bias {} does not match {} output channels",
               in[2].str(), y[1]);
  }
  return {{x.dtype, std::move(y), Layout::kChannelsLast}};
}

// The passes of the convolution that leads back, with x and y in each other's place.
InputGradients gradient(const ConvTranspose& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId dy = to_channels_last(b, g.out_gradient(0));
  Conv back = a.conv;
  back.bias = false;
  InputGradients result(g.input_count());
  if (g.needs(1)) {
    result[1] = b.add_one(conv_weight_gradient_op(), Attrs::of(back), {dy, g.in(0)});
  }
  if (a.conv.bias && g.needs(2)) result[2] = bias_gradient(b, dy);
  if (g.needs(0)) result[0] = b.add_one(conv_op(), Attrs::of(std::move(back)), {dy, g.in(1)});
  return result;
}

Cost cost(const ConvTranspose&, const Signature& types) {
  return cost_of_windows(types.in[1], types.in[0], types);
}

std::unique_ptr<BoundKernel> bind_dnnl(const ConvTranspose& a,
                                       const Signature& types,
                                       const core::Machine&) {
  return bind_convolution(ConvolutionPass::kInputGradient, a.conv, types.out[0], types.in[1],
                          types.in[0]);
}

// What the windows of `count` positions span along axis i, without padding.
std::int64_t span_of(const Conv& a, std::size_t i, std::int64_t count) {
  return (count - 1) * a.strides[i] + (a.kernel[i] - 1) * a.dilations[i] + 1;
}

// Sets the padding at the end so that the convolution from `spatial` gives the positions of x. The
// result depends on the padding at the begin alone; of what the end may be, the nearest to none.
ConvTranspose with_end_padding(Conv a, const Shape& x, Sizes spatial) {
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::int64_t least = span_of(a, i, x[i + 2]) - a.pads_begin[i] - spatial[i];
    a.pads_end[i] = std::clamp<std::int64_t>(0, least, least + a.strides[i] - 1);
  }
  return {.conv = std::move(a), .spatial = std::move(spatial)};
}

// The sizes an ONNX node asks for; sets a.pads_begin. Where the sizes are given, by output_shape or
// by a "same" auto_pad, padding makes up the difference: half of it, rounded down for SAME_UPPER
// and up for the others, stands at the begin.
Sizes read_sizes(const OnnxNode& node, Conv& a, const Shape& x) {
  const std::size_t axes = a.kernel.size();
  const std::string mode = node.string("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  Sizes extra = node.integers("output_padding");
  if (extra.empty()) extra.assign(axes, 0);
  Sizes sizes = node.integers("output_shape");
  if (sizes.size() == axes + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (extra.size() != axes || (!sizes.empty() && sizes.size() != axes)) {
    throw fail(ErrorCode::kInvalidFile, "output_padding {} and output_shape {} do not fit {} axes",
               extra, sizes, axes);
  }
  const bool given = !sizes.empty() || same;
  if (sizes.empty()) sizes.resize(axes);
  for (std::size_t i = 0; i < axes; ++i) {
    if (same && node.integers("output_shape").empty()) sizes[i] = x[i + 2] * a.strides[i];
    const std::int64_t span = span_of(a, i, x[i + 2]) + extra[i];
    if (!given) {
      sizes[i] = span - a.pads_begin[i] - a.pads_end[i];
      continue;
    }
    const std::int64_t total = std::max<std::int64_t>(span - sizes[i], 0);
    a.pads_begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return sizes;
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const ValueId w = node.required_input(1);
  Conv a = read_weights(node, b.type(w).shape);
  // read_padding takes "same" for that of a convolution, which read_sizes then replaces.
  a = read_window(node, std::move(a), b.type(x).shape);
  Sizes sizes = read_sizes(node, a, b.type(x).shape);
  return {conv_transpose_to(b, x, w, node.input(2), std::move(a), std::move(sizes))};
}

// The padding at the end that leaves no position over, and the rest as output_padding.
std::optional<OnnxForm> write_onnx(const ConvTranspose& a, const Signature& types) {
  Conv exact = a.conv;
  Sizes extra(a.spatial.size(), 0);
  for (std::size_t i = 0; i < extra.size(); ++i) {
    const std::int64_t least =
        span_of(exact, i, types.in[0].shape[i + 2]) - exact.pads_begin[i] - a.spatial[i];
    exact.pads_end[i] = std::max<std::int64_t>(least, 0);
    extra[i] = exact.pads_end[i] - least;
  }
  OnnxForm form{.type = "ConvTranspose", .attributes = conv_attributes(exact)};
  form.attributes.emplace_back("output_padding", std::move(extra));
  return form;
}

}  // namespace

const OpDef& conv_transpose_op() {
  static const TypedOp<ConvTranspose> op{{
      .name = "ConvTranspose",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 1}, {.input = 2}},
      .onnx = {{.type = "ConvTranspose", .read = read_onnx},
               {.type = "Col2Im", .read = read_col2im}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "winograd",
                   .supports = conv_transpose_suits_winograd,
                   .scratch = conv_transpose_winograd_scratch,
                   .run = run_conv_transpose_winograd},
                  {.name = "dnnl", .bind = bind_dnnl},
                  {.name = "reference", .run = run_conv_transpose_reference}},
  }};
  return op;
}

ValueId conv_transpose(
    GraphBuilder& b, ValueId x, ValueId w, ValueId bias, Conv attributes, Sizes output_padding) {
  const Shape shape = b.type(x).shape;
  const Sizes& dims = b.type(w).shape.dims();
  attributes.kernel.assign(dims.begin() + (dims.size() < 2 ? 0 : 2), dims.end());
  attributes = with_window_defaults(std::move(attributes));
  const std::size_t axes = attributes.kernel.size();
  if (output_padding.empty()) output_padding.assign(axes, 0);
  if (shape.rank() != axes + 2 || output_padding.size() != axes) {
    throw fail(ErrorCode::kInvalidArgument, "weights {} and {} paddings do not fit {}",
               b.type(w).str(), output_padding.size(), b.type(x).str());
  }
  Sizes spatial(axes);
  for (std::size_t i = 0; i < axes; ++i) {
    spatial[i] = span_of(attributes, i, shape[i + 2]) - attributes.pads_begin[i] -
                 attributes.pads_end[i] + output_padding[i];
  }
  return conv_transpose_to(b, x, w, bias, std::move(attributes), std::move(spatial));
}

ValueId conv_transpose_to(
    GraphBuilder& b, ValueId x, ValueId w, ValueId bias, Conv attributes, Sizes spatial) {
  ConvTranspose to = with_end_padding(std::move(attributes), b.type(x).shape, std::move(spatial));
  to.conv.bias = bias.valid();
  std::vector<ValueId> inputs = {to_channels_last(b, x), to_plain(b, w)};
  if (bias.valid()) inputs.push_back(bias);
  return b.add_one(conv_transpose_op(), Attrs::of(std::move(to)), std::move(inputs));
}

}  // namespace lowtide::ops
