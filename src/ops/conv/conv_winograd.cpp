#include "kernels/simd/winograd/winograd.h"
#include "ops/conv/conv_kernels.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::TensorType;
using kernels::WinogradShape;
using kernels::WinogradWeights;

WinogradShape convolution_shape(const Conv& a, const TensorType& x, const TensorType& y) {
  return {.axes = window_axes(window_of(a), x.shape, y.shape),
          .samples = x.shape[0],
          .channels_in = x.shape[1],
          .channels_out = y.shape[1]};
}

// Where windows of 3 x 3 move by single pixels, a transposed convolution is one with the weights in
// reverse: the windows that met a pixel are those around it.
WinogradShape transposed_shape(const ConvTranspose& a, const graph::Signature& types) {
  WinogradShape shape = convolution_shape(a.conv, types.out[0], types.in[0]);
  std::swap(shape.channels_in, shape.channels_out);
  for (kernels::WindowAxis& axis : shape.axes) {
    std::swap(axis.in, axis.out);
    std::swap(axis.pad_begin, axis.pad_end);
    axis.pad_begin = (axis.kernel - 1) * axis.dilation - axis.pad_end;
  }
  return shape;
}

bool suits(const Conv& a, const TensorType& x, const TensorType& y, const WinogradShape& shape) {
  return a.groups == 1 && a.kernel.size() == 2 && x.dtype == core::DType::kFloat32 &&
         x.bytes() != Bytes() && y.bytes() != Bytes() && kernels::suits_winograd(shape);
}

Bytes bytes_of(std::int64_t floats) {
  return Bytes(floats * static_cast<std::int64_t>(sizeof(float)));
}

float* scratch_of(const graph::Run& run) { return reinterpret_cast<float*>(run.scratch.data()); }

}  // namespace

bool conv_suits_winograd(const Conv& a, const graph::Signature& types) {
  return suits(a, types.in[0], types.out[0], convolution_shape(a, types.in[0], types.out[0]));
}

Bytes conv_winograd_scratch(const Conv& a, const graph::Signature& types) {
  return bytes_of(kernels::winograd_scratch(convolution_shape(a, types.in[0], types.out[0])));
}

void run_conv_winograd(const Conv& a, const graph::Signature& types, const graph::Run& run) {
  const kernels::WinogradOutput output{.y = run.output<float>(0),
                                       .channels = types.out[0].shape[1]};
  kernels::winograd_convolution(
      convolution_shape(a, types.in[0], types.out[0]), WinogradWeights::kGiven, run.input<float>(0),
      run.input<float>(1), a.bias ? run.input<float>(2) : nullptr, {&output, 1}, scratch_of(run));
}

bool conv_transpose_suits_winograd(const ConvTranspose& a, const graph::Signature& types) {
  return suits(a.conv, types.in[0], types.out[0], transposed_shape(a, types));
}

Bytes conv_transpose_winograd_scratch(const ConvTranspose& a, const graph::Signature& types) {
  return bytes_of(kernels::winograd_scratch(transposed_shape(a, types)));
}

void run_conv_transpose_winograd(const ConvTranspose& a,
                                 const graph::Signature& types,
                                 const graph::Run& run) {
  const kernels::WinogradOutput output{.y = run.output<float>(0),
                                       .channels = types.out[0].shape[1]};
  run_conv_transpose_winograd_to(a, types, {&output, 1}, run);
}

void run_conv_transpose_winograd_to(const ConvTranspose& a,
                                    const graph::Signature& types,
                                    std::span<const kernels::WinogradOutput> outputs,
                                    const graph::Run& run) {
  kernels::winograd_convolution(
      transposed_shape(a, types), WinogradWeights::kFlipped, run.input<float>(0),
      run.input<float>(1), a.conv.bias ? run.input<float>(2) : nullptr, outputs, scratch_of(run));
}

bool weight_gradient_suits_winograd(const Conv& a, const graph::Signature& types) {
  return suits(a, types.in[0], types.in[1], convolution_shape(a, types.in[0], types.in[1]));
}

Bytes weight_gradient_winograd_scratch(const Conv& a, const graph::Signature& types) {
  return bytes_of(
      kernels::winograd_weight_gradient_scratch(convolution_shape(a, types.in[0], types.in[1])));
}

void run_weight_gradient_winograd_of(const Conv& a,
                                     const graph::Signature& types,
                                     const graph::Run& run,
                                     const kernels::NormalizedInput* normalize) {
  const kernels::WinogradInput input{
      .x = run.input<float>(0), .channels = types.in[0].shape[1], .normalize = normalize};
  run_weight_gradient_winograd_of(a, types, {&input, 1}, run.input<float>(1), run);
}

void run_weight_gradient_winograd_of(const Conv& a,
                                     const graph::Signature& types,
                                     std::span<const kernels::WinogradInput> inputs,
                                     const float* dy,
                                     const graph::Run& run) {
  kernels::winograd_weight_gradient(convolution_shape(a, types.in[0], types.in[1]), inputs, dy,
                                    run.output<float>(0), scratch_of(run));
}

void run_weight_gradient_winograd(const Conv& a,
                                  const graph::Signature& types,
                                  const graph::Run& run) {
  run_weight_gradient_winograd_of(a, types, run, nullptr);
}

}  // namespace lowtide::ops
