#include "ops/batch_norm/batch_norm_kernels.h"

#include <cmath>

#include "ops/channels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

// ---- Fast kernels

void run_norm(const BatchNorm& a, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  const auto* const scale = run.input<float>(1);
  const auto* const bias = run.input<float>(2);
  const auto* const mean = run.input<float>(3);
  const auto* const variance = run.input<float>(4);
  ScratchCursor scratch(run.scratch);
  const float* const center = scratch.by_channel(rows.channels, [&](auto c) { return mean[c]; });
  const float* const factor = scratch.by_channel(rows.channels, [&](auto c) {
    return double{scale[c]} / std::sqrt(double{variance[c]} + a.epsilon);
  });
  const float* const offset = scratch.by_channel(rows.channels, [&](auto c) { return bias[c]; });
  kernels::channel_affine(run.input<float>(0), center, factor, offset, run.output<float>(0), rows);
}

void run_statistics(const BatchStatistics& a, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  const auto* const x = run.input<float>(0);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelSums sums{scratch.doubles(rows.channels), scratch.doubles(rows.channels)};
  double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
  const bool empty = rows.rows == 0;
  const float* const shift =
      scratch.by_channel(rows.channels, [&](auto c) { return empty ? 0.0F : x[c]; });
  kernels::channel_moments(x, shift, rows, sums, partial);
  const double n = elements_averaged(types.in[0]);
  for (std::int64_t c = 0; c < rows.channels; ++c) {
    const double moved = sums.first[c] / n;
    // The variance first: std::max then keeps a NaN.
    const double variance = std::max(sums.second[c] / n - moved * moved, 0.0);
    run.output<float>(0)[c] = static_cast<float>(double{shift[c]} + moved);
    run.output<float>(1)[c] = static_cast<float>(1 / std::sqrt(variance + a.epsilon));
    run.output<float>(2)[c] = static_cast<float>(variance);
  }
}

void run_apply(const BatchNormApply&, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  const auto* const mean = run.input<float>(1);
  const auto* const inverse = run.input<float>(2);
  const auto* const scale = run.input<float>(3);
  const auto* const bias = run.input<float>(4);
  ScratchCursor scratch(run.scratch);
  const float* const center = scratch.by_channel(rows.channels, [&](auto c) { return mean[c]; });
  const float* const factor = scratch.by_channel(
      rows.channels, [&](auto c) { return double{scale[c]} * double{inverse[c]}; });
  const float* const offset = scratch.by_channel(rows.channels, [&](auto c) { return bias[c]; });
  kernels::channel_affine(run.input<float>(0), center, factor, offset, run.output<float>(0), rows);
}

void run_reduce(const BatchNormReduce&, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  const auto* const mean = run.input<float>(2);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelSums sums{scratch.doubles(rows.channels), scratch.doubles(rows.channels)};
  double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
  const float* const center = scratch.by_channel(rows.channels, [&](auto c) { return mean[c]; });
  kernels::channel_gradient_sums(run.input<float>(0), run.input<float>(1), center, rows, sums,
                                 partial);
  write_parameter_gradients(sums, run.input<float>(3), rows.channels, run);
}

void run_input_gradient(const BatchNormInputGradient& a, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  const std::size_t first = a.fixed_statistics ? 1 : 3;
  const auto* const inverse = run.input<float>(first);
  const auto* const scale = run.input<float>(first + 1);
  const auto by_scale = [&](std::int64_t c) { return double{scale[c]} * double{inverse[c]}; };
  ScratchCursor scratch(run.scratch);
  const float* const factor = scratch.by_channel(rows.channels, by_scale);
  if (a.fixed_statistics) {
    kernels::channel_scale(run.input<float>(0), factor, run.output<float>(0), rows);
    return;
  }
  const double n = elements_averaged(types.in[0]);
  const auto* const mean = run.input<float>(2);
  const auto* const dscale = run.input<float>(5);
  const auto* const dbias = run.input<float>(6);
  const float* const center = scratch.by_channel(rows.channels, [&](auto c) { return mean[c]; });
  const float* const slope = scratch.by_channel(rows.channels, [&](auto c) {
    return -by_scale(c) * double{inverse[c]} * double{dscale[c]} / n;
  });
  const float* const offset = scratch.by_channel(
      rows.channels, [&](auto c) { return -by_scale(c) * double{dbias[c]} / n; });
  kernels::channel_gradient(run.input<float>(0), run.input<float>(1),
                            {.center = center, .scale = factor, .slope = slope, .offset = offset},
                            run.output<float>(0), rows);
}

// ---- Reference kernels

// y = (x - mean) * inverse(c) * scale + bias, the inputs being `first` and on.
template <class T, class F>
void normalize(const Signature& types, const Run& run, std::size_t mean, F&& inverse) {
  const std::size_t scale = mean == 3 ? 1 : 3;
  for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
    const double centered = double{run.input<T>(0)[at]} - double{run.input<T>(mean)[c]};
    run.output<T>(0)[at] = static_cast<T>(centered * inverse(c) * double{run.input<T>(scale)[c]} +
                                          double{run.input<T>(scale + 1)[c]});
  });
}

void reference_norm(const BatchNorm& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    normalize<T>(types, run, 3, [&](std::size_t c) {
      return 1 / std::sqrt(double{run.input<T>(4)[c]} + a.epsilon);
    });
  });
}

void reference_apply(const BatchNormApply&, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    normalize<T>(types, run, 1, [&](std::size_t c) { return double{run.input<T>(2)[c]}; });
  });
}

void reference_deviation(const InverseDeviation& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t c = 0; c < types.in[0].shape.elements(); ++c) {
      run.output<T>(0)[c] = static_cast<T>(1 / std::sqrt(double{run.input<T>(0)[c]} + a.epsilon));
    }
  });
}

void reference_statistics(const BatchStatistics& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const x = run.input<T>(0);
    const auto channels = static_cast<std::size_t>(types.in[0].shape[1]);
    const double n = elements_averaged(types.in[0]);
    std::vector<double> mean(channels, 0.0);
    std::vector<double> variance(channels, 0.0);
    for_each_of_channels(types.in[0],
                         [&](std::size_t c, std::int64_t at) { mean[c] += double{x[at]} / n; });
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      variance[c] += (double{x[at]} - mean[c]) * (double{x[at]} - mean[c]) / n;
    });
    for (std::size_t c = 0; c < channels; ++c) {
      run.output<T>(0)[c] = static_cast<T>(mean[c]);
      run.output<T>(1)[c] = static_cast<T>(1 / std::sqrt(variance[c] + a.epsilon));
      run.output<T>(2)[c] = static_cast<T>(variance[c]);
    }
  });
}

void reference_reduce(const BatchNormReduce&, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto channels = static_cast<std::size_t>(types.in[0].shape[1]);
    std::vector<double> dscale(channels, 0.0);
    std::vector<double> dbias(channels, 0.0);
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      const double dy = double{run.input<T>(1)[at]};
      dscale[c] += dy * (double{run.input<T>(0)[at]} - double{run.input<T>(2)[c]});
      dbias[c] += dy;
    });
    for (std::size_t c = 0; c < channels; ++c) {
      run.output<T>(0)[c] = static_cast<T>(dscale[c] * double{run.input<T>(3)[c]});
      run.output<T>(1)[c] = static_cast<T>(dbias[c]);
    }
  });
}

void reference_input_gradient(const BatchNormInputGradient& a,
                              const Signature& types,
                              const Run& run) {
  const double n = elements_averaged(types.in[0]);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto of_channel = [&](std::size_t input, std::size_t c) {
      return double{run.input<T>(input)[c]};
    };
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      double dx = 0;
      if (a.fixed_statistics) {
        dx = double{run.input<T>(0)[at]} * of_channel(1, c) * of_channel(2, c);
      } else {
        const double inverse = of_channel(3, c);
        const double normal = (double{run.input<T>(0)[at]} - of_channel(2, c)) * inverse;
        const double dy = double{run.input<T>(1)[at]};
        dx = of_channel(4, c) * inverse *
             (dy - of_channel(6, c) / n - normal * of_channel(5, c) / n);
      }
      run.output<T>(0)[at] = static_cast<T>(dx);
    });
  });
}

}  // namespace

std::vector<Kernel<BatchNorm>> batch_norm_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_arrays<BatchNorm, 3>,
           .run = run_norm},
          {.name = "reference", .run = reference_norm}};
}

std::vector<Kernel<BatchStatistics>> batch_statistics_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_sums<BatchStatistics, 1>,
           .run = run_statistics},
          {.name = "reference", .run = reference_statistics}};
}

std::vector<Kernel<InverseDeviation>> inverse_deviation_kernels() {
  return {{.name = "reference", .run = reference_deviation}};
}

std::vector<Kernel<BatchNormApply>> batch_norm_apply_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_arrays<BatchNormApply, 3>,
           .run = run_apply},
          {.name = "reference", .run = reference_apply}};
}

std::vector<Kernel<BatchNormReduce>> batch_norm_reduce_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_sums<BatchNormReduce, 1>,
           .run = run_reduce},
          {.name = "reference", .run = reference_reduce}};
}

std::vector<Kernel<BatchNormInputGradient>> batch_norm_input_gradient_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_arrays<BatchNormInputGradient, 4>,
           .run = run_input_gradient},
          {.name = "reference", .run = reference_input_gradient}};
}

}  // namespace lowtide::ops
