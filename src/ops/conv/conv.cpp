#include "ops/conv/conv.h"

#include <utility>

#include "core/text.h"
#include "ops/conv/causal_conv.h"
#include "ops/conv/conv_kernels.h"
#include "ops/conv/lrn.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/layout/layout.h"
#include "ops/reduce/reduce.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;
using core::Shape;
using kernels::ConvolutionPass;

// Checks that w convolves x and gives the type of y.
TensorType output_type(const Conv& a, const TensorType& x, const TensorType& w) {
  if (!core::is_float(x.dtype) || w.dtype != x.dtype || x.layout != Layout::kChannelsLast ||
      w.layout != Layout::kPlain || w.shape.rank() != x.shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot convolve {} with {}", x.str(), w.str());
  }
  if (a.groups < 1 || w.shape[0] % a.groups != 0 || w.shape[1] * a.groups != x.shape[1]) {
    throw fail(ErrorCode::kInvalidArgument,
               "weights {} in {} groups do not match the {} channels of {}", w.shape.str(),
               a.groups, x.shape[1], x.shape.str());
  }
  std::vector<std::int64_t> dims = window_counts(window_of(a), x.shape, Rounding::kDown);
  dims.insert(dims.begin(), {x.shape[0], w.shape[0]});
  return {x.dtype, Shape(std::move(dims)), Layout::kChannelsLast};
}

std::vector<TensorType> infer(const Conv& a, Types in) {
  TensorType y = output_type(a, in[0], in[1]);
  if (a.bias && (in[2].dtype != y.dtype || in[2].shape != Shape{in[1].shape[0]})) {
    throw fail(ErrorCode::kInvalidArgument, "a bias {} does not match {} output channels",
               in[2].str(), in[1].shape[0]);
  }
  return {std::move(y)};
}

std::vector<TensorType> infer_weight_gradient(const Conv& a, Types in) {
  std::vector<std::int64_t> dims = a.kernel;
  dims.insert(dims.begin(), {in[1].shape[1], in[0].shape[1] / a.groups});
  return {{in[0].dtype, Shape(std::move(dims)), Layout::kPlain}};
}

// The weight gradient comes first: after it x is no longer needed.
InputGradients gradient(const Conv& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId dy = to_channels_last(b, g.out_gradient(0));
  InputGradients result(g.input_count());
  if (g.needs(1)) {
    result[1] = b.add_one(conv_weight_gradient_op(), Attrs::of(a), {g.in(0), dy});
  }
  if (a.bias && g.needs(2)) result[2] = bias_gradient(b, dy);
  if (g.needs(0)) {
    const std::vector<std::int64_t>& dims = g.type(g.in(0)).shape.dims();
    ConvTranspose attributes{.conv = a, .spatial = {dims.begin() + 2, dims.end()}};
    attributes.conv.bias = false;
    result[0] = b.add_one(conv_transpose_op(), Attrs::of(std::move(attributes)), {dy, g.in(1)});
  }
  return result;
}

Cost cost(const Conv&, const Signature& types) {
  return cost_of_windows(types.in[1], types.out[0], types);
}

Cost cost_of_weight_gradient(const Conv&, const Signature& types) {
  return cost_of_windows(types.out[0], types.in[1], types);
}

std::unique_ptr<BoundKernel> bind_forward(const Conv& a,
                                          const Signature& types,
                                          const core::Machine&) {
  return bind_convolution(ConvolutionPass::kForward, a, types.in[0], types.in[1], types.out[0]);
}

std::unique_ptr<BoundKernel> bind_weight_gradient(const Conv& a,
                                                  const Signature& types,
                                                  const core::Machine&) {
  return bind_convolution(ConvolutionPass::kWeightGradient, a, types.in[0], types.out[0],
                          types.in[1]);
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const ValueId w = node.required_input(1);
  Conv a = read_weights(node, b.type(w).shape);
  return {conv(b, x, w, node.input(2), read_window(node, std::move(a), b.type(x).shape))};
}

std::optional<OnnxForm> write_onnx(const Conv& a, const Signature&) {
  return OnnxForm{.type = "Conv", .attributes = conv_attributes(a)};
}

}  // namespace

const OpDef& conv_op() {
  static const TypedOp<Conv> op{{
      .name = "Conv",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 1}, {.input = 2}},
      .onnx = {{.type = "Conv", .read = read_onnx},
               {.type = "CausalConvWithState", .read = read_causal_conv},
               {.type = "LRN", .read = read_lrn}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "winograd",
                   .supports = conv_suits_winograd,
                   .scratch = conv_winograd_scratch,
                   .run = run_conv_winograd},
                  {.name = "dnnl", .bind = bind_forward},
                  {.name = "reference", .run = run_conv_reference}},
  }};
  return op;
}

const OpDef& conv_weight_gradient_op() {
  static const TypedOp<Conv> op{{
      .name = "ConvWeightGradient",
      .infer = infer_weight_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_weight_gradient,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "winograd",
                   .supports = weight_gradient_suits_winograd,
                   .scratch = weight_gradient_winograd_scratch,
                   .run = run_weight_gradient_winograd},
                  {.name = "simd_tiles",
                   .supports = weight_gradient_suits_tiles,
                   .scratch = weight_gradient_tiles_scratch,
                   .run = run_weight_gradient_tiles},
                  {.name = "dnnl", .bind = bind_weight_gradient},
                  {.name = "reference", .run = run_conv_weight_gradient_reference}},
  }};
  return op;
}

ValueId bias_gradient(GraphBuilder& b, ValueId dy) {
  std::vector<std::size_t> axes = {0};
  for (std::size_t i = 2; i < b.type(dy).shape.rank(); ++i) axes.push_back(i);
  return reduce_sum(b, dy, std::move(axes), KeepDims::kNo);
}

Cost cost_of_windows(const TensorType& w, const TensorType& y, const Signature& types) {
  Bytes traffic = types.out[0].bytes();
  for (const TensorType& type : types.in) traffic += type.bytes();
  const std::int64_t channels = w.shape[0];
  const double windows = channels == 0 ? 0.0 : static_cast<double>(y.shape.elements() / channels);
  return {.flops = 2.0 * windows * static_cast<double>(w.shape.elements()), .traffic = traffic};
}

Conv read_weights(const OnnxNode& node, const Shape& weights) {
  if (weights.rank() < 3) {
    throw fail(ErrorCode::kInvalidFile, "weights {} have no spatial axis", weights.str());
  }
  Conv a{.groups = node.integer("group", 1),
         .kernel = {weights.dims().begin() + 2, weights.dims().end()}};
  const std::vector<std::int64_t> kernel = node.integers("kernel_shape");
  if (!kernel.empty() && kernel != a.kernel) {
    throw fail(ErrorCode::kInvalidFile, "kernel_shape {} is not that of the weights {}", kernel,
               weights.str());
  }
  return a;
}

std::vector<std::pair<std::string, OnnxAttribute>> conv_attributes(const Conv& a) {
  auto attributes = window_attributes(window_of(a));
  attributes.emplace_back("group", a.groups);
  return attributes;
}

ValueId conv(GraphBuilder& b, ValueId x, ValueId w, ValueId bias, Conv attributes) {
  const std::vector<std::int64_t>& dims = b.type(w).shape.dims();
  attributes.kernel.assign(dims.begin() + (dims.size() < 2 ? 0 : 2), dims.end());
  attributes = with_window_defaults(std::move(attributes));
  attributes.bias = bias.valid();
  std::vector<ValueId> inputs = {to_channels_last(b, x), to_plain(b, w)};
  if (bias.valid()) inputs.push_back(bias);
  return b.add_one(conv_op(), Attrs::of(std::move(attributes)), std::move(inputs));
}

}  // namespace lowtide::ops
