#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"

#include <algorithm>

#include "kernels/simd/norm/normalize_activate.h"
#include "ops/batch_norm_activate/coefficients.h"
#include "ops/channels.h"
#include "ops/unary/unary_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

// ---- Fast kernels

void run_activate(const BatchNormActivate& a, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelAffine affine = Coefficients(run, 1).affine(scratch, rows.channels);
  kernels::channel_affine_activate(run.input<float>(0), affine, activation_of(a.activation),
                                   run.output<float>(0), rows);
}

void run_activate_reduce(const BatchNormActivateReduce& a, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelSums sums{scratch.doubles(rows.channels), scratch.doubles(rows.channels)};
  double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
  const Coefficients given(run, 2);
  const kernels::ChannelAffine affine = given.affine(scratch, rows.channels);
  kernels::channel_activation_sums(run.input<float>(0), run.input<float>(1), affine,
                                   activation_of(a.activation), rows, sums, partial);
  write_parameter_gradients(sums, given.inverse, rows.channels, run);
}

void run_activate_input_gradient(const BatchNormActivateInputGradient& a,
                                 const Signature& types,
                                 const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  ScratchCursor scratch(run.scratch);
  const Coefficients given(run, 2);
  const kernels::ChannelAffine affine = given.affine(scratch, rows.channels);
  const double n = elements_averaged(types.in[0]);
  const auto* const dscale = run.input<float>(6);
  const auto* const dbias = run.input<float>(7);
  const float* const slope = scratch.by_channel(rows.channels, [&](auto c) {
    return -given.factor(c) * double{given.inverse[c]} * double{dscale[c]} / n;
  });
  const float* const offset = scratch.by_channel(
      rows.channels, [&](auto c) { return -given.factor(c) * double{dbias[c]} / n; });
  kernels::channel_activation_gradient(
      run.input<float>(0), run.input<float>(1), affine, activation_of(a.activation),
      {.center = affine.center, .scale = affine.scale, .slope = slope, .offset = offset},
      run.output<float>(0), rows);
}

void run_add_relu(const BatchNormAddRelu&, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelAffine affine = Coefficients(run, 1).affine(scratch, rows.channels);
  kernels::channel_affine_add_relu(run.input<float>(0), affine, run.input<float>(5),
                                   run.output<float>(0), run.output<std::uint8_t>(1), rows);
}

void run_masked_reduce(const BatchNormMaskedReduce&, const Signature& types, const Run& run) {
  const kernels::ChannelRows rows = channel_rows(types.in[0].shape);
  ScratchCursor scratch(run.scratch);
  const kernels::ChannelSums sums{scratch.doubles(rows.channels), scratch.doubles(rows.channels)};
  double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
  const auto* const mean = run.input<float>(2);
  const float* const center = scratch.by_channel(rows.channels, [&](auto c) { return mean[c]; });
  const float* const more = types.in.size() == 6 ? run.input<float>(5) : nullptr;
  kernels::channel_masked_sums(run.input<float>(0), run.input<float>(4), more,
                               run.input<std::uint8_t>(1), center, run.output<float>(2), rows, sums,
                               partial);
  write_parameter_gradients(sums, run.input<float>(3), rows.channels, run);
}

// ---- Reference kernels

// What backward needs of one element, inputs `first` and on being the coefficients.
template <class T>
struct ReferenceNorm {
  const Run& run;
  std::size_t first;

  [[nodiscard]] double of(std::size_t input, std::size_t c) const {
    return double{run.input<T>(first + input)[c]};
  }
  [[nodiscard]] double normal(double x, std::size_t c) const { return (x - of(0, c)) * of(1, c); }
  [[nodiscard]] double affine(double x, std::size_t c) const {
    return normal(x, c) * of(2, c) + of(3, c);
  }
};

void reference_activate(const BatchNormActivate& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ReferenceNorm<T> norm{run, 1};
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      const double z = norm.affine(double{run.input<T>(0)[at]}, c);
      run.output<T>(0)[at] = static_cast<T>(unary_value(a.activation, z));
    });
  });
}

// dy f'(z); a derivative of exactly 0 cuts off even an infinite dy.
double gated(const Unary& f, double z, double dy) {
  const double slope = unary_derivative(f, z);
  return slope == 0 ? 0.0 : slope * dy;
}

void reference_activate_reduce(const BatchNormActivateReduce& a,
                               const Signature& types,
                               const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ReferenceNorm<T> norm{run, 2};
    const auto channels = static_cast<std::size_t>(types.in[0].shape[1]);
    std::vector<double> dscale(channels, 0.0);
    std::vector<double> dbias(channels, 0.0);
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      const double x = double{run.input<T>(0)[at]};
      const double g = gated(a.activation, norm.affine(x, c), double{run.input<T>(1)[at]});
      dscale[c] += g * norm.normal(x, c);
      dbias[c] += g;
    });
    for (std::size_t c = 0; c < channels; ++c) {
      run.output<T>(0)[c] = static_cast<T>(dscale[c]);
      run.output<T>(1)[c] = static_cast<T>(dbias[c]);
    }
  });
}

void reference_activate_input_gradient(const BatchNormActivateInputGradient& a,
                                       const Signature& types,
                                       const Run& run) {
  const double n = elements_averaged(types.in[0]);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ReferenceNorm<T> norm{run, 2};
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      const double x = double{run.input<T>(0)[at]};
      const double g = gated(a.activation, norm.affine(x, c), double{run.input<T>(1)[at]});
      const double through_statistics = norm.of(5, c) + norm.normal(x, c) * norm.of(4, c);
      run.output<T>(0)[at] =
          static_cast<T>(norm.of(2, c) * norm.of(1, c) * (g - through_statistics / n));
    });
  });
}

void reference_add_relu(const BatchNormAddRelu&, const Signature& types, const Run& run) {
  auto* const mask = run.output<std::uint8_t>(1);
  std::fill_n(mask, types.out[1].shape.elements(), std::uint8_t{0});
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ReferenceNorm<T> norm{run, 1};
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      const double z = norm.affine(double{run.input<T>(0)[at]}, c) + double{run.input<T>(5)[at]};
      run.output<T>(0)[at] = static_cast<T>(z <= 0 ? 0.0 : z);
      const unsigned bit = z <= 0 ? 0U : 1U << static_cast<unsigned>(at % 8);
      mask[at / 8] = static_cast<std::uint8_t>(mask[at / 8] | bit);
    });
  });
}

void reference_masked_reduce(const BatchNormMaskedReduce&, const Signature& types, const Run& run) {
  const auto* const mask = run.input<std::uint8_t>(1);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto channels = static_cast<std::size_t>(types.in[0].shape[1]);
    std::vector<double> dscale(channels, 0.0);
    std::vector<double> dbias(channels, 0.0);
    for_each_of_channels(types.in[0], [&](std::size_t c, std::int64_t at) {
      double dy = double{run.input<T>(4)[at]};
      if (types.in.size() == 6) dy += double{run.input<T>(5)[at]};
      const double g = ((mask[at / 8] >> (at % 8)) & 1) != 0 ? dy : 0.0;
      dscale[c] += g * (double{run.input<T>(0)[at]} - double{run.input<T>(2)[c]});
      dbias[c] += g;
      run.output<T>(2)[at] = static_cast<T>(g);
    });
    for (std::size_t c = 0; c < channels; ++c) {
      run.output<T>(0)[c] = static_cast<T>(dscale[c] * double{run.input<T>(3)[c]});
      run.output<T>(1)[c] = static_cast<T>(dbias[c]);
    }
  });
}

// The two ways to compute each of these ops.
template <class A, int kSums, int kArrays>
std::vector<Kernel<A>> kernels_of(RunFn<A> fast, RunFn<A> reference) {
  constexpr ScratchFn<A> kScratch = kSums != 0 ? ScratchFn<A>(scratch_sums<A, kArrays>)
                                               : ScratchFn<A>(scratch_arrays<A, kArrays>);
  return {{.name = "simd_channels",
           .supports = channel_rows_first<A>,
           .scratch = kScratch,
           .run = fast},
          {.name = "reference", .run = reference}};
}

}  // namespace

std::vector<Kernel<BatchNormActivate>> batch_norm_activate_kernels() {
  return kernels_of<BatchNormActivate, 0, 3>(run_activate, reference_activate);
}

std::vector<Kernel<BatchNormActivateReduce>> batch_norm_activate_reduce_kernels() {
  return kernels_of<BatchNormActivateReduce, 2, 3>(run_activate_reduce, reference_activate_reduce);
}

std::vector<Kernel<BatchNormActivateInputGradient>> batch_norm_activate_input_gradient_kernels() {
  return kernels_of<BatchNormActivateInputGradient, 0, 5>(run_activate_input_gradient,
                                                          reference_activate_input_gradient);
}

std::vector<Kernel<BatchNormAddRelu>> batch_norm_add_relu_kernels() {
  return kernels_of<BatchNormAddRelu, 0, 3>(run_add_relu, reference_add_relu);
}

std::vector<Kernel<BatchNormMaskedReduce>> batch_norm_masked_reduce_kernels() {
  return kernels_of<BatchNormMaskedReduce, 2, 1>(run_masked_reduce, reference_masked_reduce);
}

}  // namespace lowtide::ops
