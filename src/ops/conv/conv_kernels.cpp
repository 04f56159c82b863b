#include "ops/conv/conv_kernels.h"

#include "core/parallel.h"
#include "kernels/simd/product/weight_gradient.h"
#include "ops/computation_kernel.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::TensorType;

// What the three loops walk over. The weights' "sample" axis is the channel of y.
struct Walk {
  WindowAxes axes;
  SpatialStrides x;
  SpatialStrides w;
  SpatialStrides y;
  std::int64_t samples = 0;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t in_each = 0;   // channels of x in one group
  std::int64_t out_each = 0;  // channels of y in one group

  Walk(const Conv& a, const TensorType& x_type, const TensorType& w_type, const TensorType& y_type)
      : axes(window_axes(window_of(a), x_type.shape, y_type.shape)),
        x(spatial_strides(x_type)),
        w(spatial_strides(w_type)),
        y(spatial_strides(y_type)),
        samples(x_type.shape[0]),
        channels_in(x_type.shape[1]),
        channels_out(y_type.shape[1]),
        in_each(w_type.shape[1]),
        out_each(y_type.shape[1] / a.groups) {}
};

kernels::WeightGradientShape tiles_shape(const Conv& a, const graph::Signature& types) {
  const TensorType& x = types.in[0];
  const TensorType& dy = types.in[1];
  return {.axes = window_axes(window_of(a), x.shape, dy.shape),
          .samples = x.shape[0],
          .groups = a.groups,
          .in_each = x.shape[1] / a.groups,
          .out_each = dy.shape[1] / a.groups};
}

}  // namespace

std::unique_ptr<graph::BoundKernel> bind_convolution(kernels::ConvolutionPass pass,
                                                     const Conv& a,
                                                     const TensorType& x,
                                                     const TensorType& w,
                                                     const TensorType& y) {
  if (x.dtype != core::DType::kFloat32 || x.bytes() == Bytes() || w.bytes() == Bytes() ||
      y.bytes() == Bytes()) {
    return nullptr;
  }
  return bind_computation("dnnl", kernels::make_convolution(pass, {.x = x.shape.dims(),
                                                                   .w = w.shape.dims(),
                                                                   .y = y.shape.dims(),
                                                                   .strides = a.strides,
                                                                   .dilations = a.dilations,
                                                                   .pads_begin = a.pads_begin,
                                                                   .pads_end = a.pads_end,
                                                                   .groups = a.groups,
                                                                   .bias = a.bias}));
}

bool weight_gradient_suits_tiles(const Conv& a, const graph::Signature& types) {
  return types.in[0].dtype == core::DType::kFloat32 && types.in[0].bytes() != Bytes() &&
         types.in[1].bytes() != Bytes() && types.out[0].bytes() != Bytes() &&
         kernels::suits_tiles(tiles_shape(a, types));
}

Bytes weight_gradient_tiles_scratch(const Conv& a, const graph::Signature& types) {
  return Bytes(kernels::weight_gradient_scratch(tiles_shape(a, types)) *
               static_cast<std::int64_t>(sizeof(float)));
}

void run_weight_gradient_tiles_of(const Conv& a,
                                  const graph::Signature& types,
                                  const graph::Run& run,
                                  const kernels::NormalizedInput* normalize) {
  kernels::weight_gradient(tiles_shape(a, types), run.input<float>(0), run.input<float>(1),
                           run.output<float>(0), reinterpret_cast<float*>(run.scratch.data()),
                           normalize);
}

void run_weight_gradient_tiles(const Conv& a,
                               const graph::Signature& types,
                               const graph::Run& run) {
  run_weight_gradient_tiles_of(a, types, run, nullptr);
}

void run_conv_reference(const Conv& a, const graph::Signature& types, const graph::Run& run) {
  const Walk at(a, types.in[0], types.in[1], types.out[0]);
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const bias = a.bias ? run.input<T>(2) : nullptr;
    core::parallel_for(at.samples * at.channels_out, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t o = i % at.channels_out;
        const T* const x = run.input<T>(0) + i / at.channels_out * at.x.sample +
                           o / at.out_each * at.in_each * at.x.channel;
        const T* const w = run.input<T>(1) + o * at.w.sample;
        T* const y = run.output<T>(0) + i / at.channels_out * at.y.sample + o * at.y.channel;
        for_each_place(out_sizes(at.axes), [&](const Place3& window) {
          double sum = bias == nullptr ? 0.0 : double(bias[o]);
          for_each_tap(at.axes, window, [&](const Place3& tap, const Place3& place) {
            const T* const pixel = x + at.x.at(place);
            const T* const weight = w + at.w.at(tap);
            for (std::int64_t c = 0; c < at.in_each; ++c) {
              sum += double(pixel[c * at.x.channel]) * double(weight[c * at.w.channel]);
            }
          });
          y[at.y.at(window)] = static_cast<T>(sum);
        });
      }
    });
  });
}

void run_conv_weight_gradient_reference(const Conv& a,
                                        const graph::Signature& types,
                                        const graph::Run& run) {
  const Walk at(a, types.in[0], types.out[0], types.in[1]);
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::parallel_for(at.channels_out * at.in_each, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t o = i / at.in_each;
        const std::int64_t c = o / at.out_each * at.in_each + i % at.in_each;
        const T* const x = run.input<T>(0) + c * at.x.channel;
        const T* const dy = run.input<T>(1) + o * at.y.channel;
        T* const dw = run.output<T>(0) + o * at.w.sample + i % at.in_each * at.w.channel;
        for_each_place(kernel_sizes(at.axes), [&](const Place3& tap) {
          double sum = 0;
          for_each_place(out_sizes(at.axes), [&](const Place3& window) {
            Place3 place;
            for (std::size_t k = 0; k < 3; ++k) {
              place[k] = at.axes[k].position(window[k], tap[k]);
              if (!at.axes[k].inside(place[k])) return;
            }
            for (std::int64_t n = 0; n < at.samples; ++n) {
              sum += double(x[n * at.x.sample + at.x.at(place)]) *
                     double(dy[n * at.y.sample + at.y.at(window)]);
            }
          });
          dw[at.w.at(tap)] = static_cast<T>(sum);
        });
      }
    });
  });
}

void run_conv_transpose_reference(const ConvTranspose& a,
                                  const graph::Signature& types,
                                  const graph::Run& run) {
  const Walk at(a.conv, types.out[0], types.in[1], types.in[0]);
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const bias = a.conv.bias ? run.input<T>(2) : nullptr;
    core::parallel_for(at.samples * at.channels_in, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t c = i % at.channels_in;
        const std::int64_t first = c / at.in_each * at.out_each;  // channel of y
        const T* const w = run.input<T>(1) + first * at.w.sample + c % at.in_each * at.w.channel;
        const T* const dy =
            run.input<T>(0) + i / at.channels_in * at.y.sample + first * at.y.channel;
        T* const dx = run.output<T>(0) + i / at.channels_in * at.x.sample + c * at.x.channel;
        for_each_place(in_sizes(at.axes), [&](const Place3& place) {
          double sum = bias == nullptr ? 0.0 : double(bias[c]);
          for_each_window(at.axes, place, [&](const Place3& tap, const Place3& window) {
            const T* const pixel = dy + at.y.at(window);
            const T* const weight = w + at.w.at(tap);
            for (std::int64_t o = 0; o < at.out_each; ++o) {
              sum += double(pixel[o * at.y.channel]) * double(weight[o * at.w.sample]);
            }
          });
          dx[at.x.at(place)] = static_cast<T>(sum);
        });
      }
    });
  });
}

}  // namespace lowtide::ops
