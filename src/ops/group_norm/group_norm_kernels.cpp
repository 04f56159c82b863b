#include "ops/group_norm/group_norm_kernels.h"

#include <cmath>

#include "core/parallel.h"
#include "ops/channels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

// How a tensor divides into samples, groups and channels. Channel-wise kernels run on one sample at
// a time; at most kMostBlocks stretches of samples run side by side, each with scratch of its own.
struct Groups {
  Groups(const core::Shape& shape, std::int64_t group_count)
      : samples(shape[0]),
        channels(shape[1]),
        groups(group_count),
        group_channels(group_count == 0 ? 0 : channels / group_count),
        positions(samples * channels == 0 ? 0 : shape.elements() / (samples * channels)) {}

  [[nodiscard]] kernels::ChannelRows rows() const {
    return {.rows = positions, .channels = channels};
  }
  [[nodiscard]] std::int64_t blocks() const {
    constexpr std::int64_t kMostBlocks = 16;
    return std::min(std::max<std::int64_t>(samples, 1), kMostBlocks);
  }
  // Elements of a group; never zero, so that an empty one has finite statistics.
  [[nodiscard]] double count() const {
    return static_cast<double>(std::max<std::int64_t>(positions * group_channels, 1));
  }

  std::int64_t samples;
  std::int64_t channels;
  std::int64_t groups;
  std::int64_t group_channels;
  std::int64_t positions;
};

// ---- Fast kernels

constexpr std::int64_t kArrays = 4;

// Two totals for each channel, two sums of a sample, the kernels' own scratch, kArrays arrays.
Bytes block_scratch(const Groups& at) {
  const std::int64_t doubles = 4 * at.channels + kernels::channel_sums_scratch(at.rows());
  return scratch_bytes(doubles, kArrays, at.channels).rounded_up(Bytes(64));
}

template <class A>
Bytes scratch_of_blocks(const A&, const Signature& types) {
  const Groups at(types.in[0].shape, types.in[0].shape[1]);
  return at.blocks() * block_scratch(at);
}

// Calls f(first sample, end, scratch) for each block.
template <class F>
void for_each_block(const Groups& at, std::span<std::byte> all, F&& f) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const std::int64_t blocks = at.blocks();
  const auto bytes = static_cast<std::size_t>(block_scratch(at).count());
  const std::int64_t elements = at.samples * at.channels * at.positions;
  core::parallel_for(blocks, kElementsPerThread * blocks / (elements + 1) + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t block = begin; block < end; ++block) {
                         f(at.samples * block / blocks, at.samples * (block + 1) / blocks,
                           all.subspan(static_cast<std::size_t>(block) * bytes, bytes));
                       }
                     });
}

// Mean and variance of one group from the sums of its channels around their shifts.
struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments combine(const Groups& at,
                const kernels::ChannelSums& sums,
                const float* shift,
                std::int64_t group) {
  const double n = static_cast<double>(std::max<std::int64_t>(at.positions, 1));
  const double channels = static_cast<double>(std::max<std::int64_t>(at.group_channels, 1));
  const std::int64_t first = group * at.group_channels;
  Moments result;
  for (std::int64_t c = first; c < first + at.group_channels; ++c) {
    result.mean += (double{shift[c]} + sums.first[c] / n) / channels;
  }
  for (std::int64_t c = first; c < first + at.group_channels; ++c) {
    const double moved = sums.first[c] / n;
    const double apart = double{shift[c]} + moved - result.mean;
    // The variance first: std::max then keeps a NaN.
    const double own = std::max(sums.second[c] / n - moved * moved, 0.0);
    result.variance += (own + apart * apart) / channels;
  }
  return result;
}

void run_norm(const GroupNorm& a, const Signature& types, const Run& run) {
  const Groups at(types.in[0].shape, a.groups);
  const kernels::ChannelRows rows = at.rows();
  const bool per_group = types.in[1].shape[0] == a.groups;
  const auto* const scale = run.input<float>(1);
  const auto* const bias = run.input<float>(2);
  for_each_block(at, run.scratch, [&](std::int64_t begin, std::int64_t end, auto own) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      const float* const x = run.input<float>(0) + sample * rows.elements();
      float* const mean = run.output<float>(1) + sample * at.groups;
      float* const inverse = run.output<float>(2) + sample * at.groups;
      ScratchCursor scratch(own);
      const kernels::ChannelSums sums{scratch.doubles(at.channels), scratch.doubles(at.channels)};
      double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
      const bool empty = rows.rows == 0;
      const float* const shift =
          scratch.by_channel(at.channels, [&](auto c) { return empty ? 0.0F : x[c]; });
      kernels::channel_moments(x, shift, rows, sums, partial);
      for (std::int64_t group = 0; group < at.groups; ++group) {
        const Moments moments = combine(at, sums, shift, group);
        mean[group] = static_cast<float>(moments.mean);
        inverse[group] = static_cast<float>(1 / std::sqrt(moments.variance + a.epsilon));
      }
      const auto group_of = [&](std::int64_t c) { return c / at.group_channels; };
      const auto parameter = [&](std::int64_t c) { return per_group ? group_of(c) : c; };
      const float* const center =
          scratch.by_channel(at.channels, [&](auto c) { return mean[group_of(c)]; });
      const float* const factor = scratch.by_channel(at.channels, [&](auto c) {
        return double{inverse[group_of(c)]} * double{scale[parameter(c)]};
      });
      const float* const offset =
          scratch.by_channel(at.channels, [&](auto c) { return bias[parameter(c)]; });
      kernels::channel_affine(x, center, factor, offset,
                              run.output<float>(0) + sample * rows.elements(), rows);
    }
  });
}

void run_reduce(const GroupNormReduce& a, const Signature& types, const Run& run) {
  const Groups at(types.in[0].shape, types.in[2].shape[1]);
  const kernels::ChannelRows rows = at.rows();
  for_each_block(at, run.scratch, [&](std::int64_t begin, std::int64_t end, auto own) {
    ScratchCursor scratch(own);
    double* const dscale = scratch.doubles(at.channels);
    double* const dbias = scratch.doubles(at.channels);
    const kernels::ChannelSums sums{scratch.doubles(at.channels), scratch.doubles(at.channels)};
    double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
    std::fill_n(dscale, at.channels, 0.0);
    std::fill_n(dbias, at.channels, 0.0);
    for (std::int64_t sample = begin; sample < end; ++sample) {
      const float* const mean = run.input<float>(2) + sample * at.groups;
      const float* const inverse = run.input<float>(3) + sample * at.groups;
      ScratchCursor arrays = scratch;
      const float* const center =
          arrays.by_channel(at.channels, [&](auto c) { return mean[c / at.group_channels]; });
      kernels::channel_gradient_sums(run.input<float>(0) + sample * rows.elements(),
                                     run.input<float>(1) + sample * rows.elements(), center, rows,
                                     sums, partial);
      for (std::int64_t c = 0; c < at.channels; ++c) {
        dscale[c] += sums.second[c] * double{inverse[c / at.group_channels]};
        dbias[c] += sums.first[c];
      }
    }
  });
  const auto bytes = block_scratch(at).count();
  const std::int64_t outputs = a.per_group ? at.groups : at.channels;
  const std::int64_t each = a.per_group ? at.group_channels : 1;
  for (std::int64_t i = 0; i < outputs; ++i) {
    double dscale = 0;
    double dbias = 0;
    for (std::int64_t block = 0; block < at.blocks(); ++block) {
      const auto* const own = reinterpret_cast<const double*>(run.scratch.data() + block * bytes);
      for (std::int64_t c = i * each; c < (i + 1) * each; ++c) {
        dscale += own[c];
        dbias += own[at.channels + c];
      }
    }
    run.output<float>(0)[i] = static_cast<float>(dscale);
    run.output<float>(1)[i] = static_cast<float>(dbias);
  }
}

// dx = inverse (scale dy - A - z B), A and B being the group's means of scale dy and scale dy z.
void run_input_gradient(const GroupNormInputGradient&, const Signature& types, const Run& run) {
  const Groups at(types.in[0].shape, types.in[2].shape[1]);
  const kernels::ChannelRows rows = at.rows();
  const bool per_group = types.in[4].shape[0] == at.groups;
  for_each_block(at, run.scratch, [&](std::int64_t begin, std::int64_t end, auto own) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      const float* const x = run.input<float>(0) + sample * rows.elements();
      const float* const dy = run.input<float>(1) + sample * rows.elements();
      const float* const mean = run.input<float>(2) + sample * at.groups;
      const auto group_of = [&](std::int64_t c) { return c / at.group_channels; };
      const auto inverse = [&](std::int64_t c) {
        return double{run.input<float>(3)[sample * at.groups + group_of(c)]};
      };
      const auto scale = [&](std::int64_t c) {
        return double{run.input<float>(4)[per_group ? group_of(c) : c]};
      };
      ScratchCursor scratch(own);
      double* const a = scratch.doubles(at.groups);
      double* const b = scratch.doubles(at.groups);
      const kernels::ChannelSums sums{scratch.doubles(at.channels), scratch.doubles(at.channels)};
      double* const partial = scratch.doubles(kernels::channel_sums_scratch(rows));
      const float* const center =
          scratch.by_channel(at.channels, [&](auto c) { return mean[group_of(c)]; });
      kernels::channel_gradient_sums(x, dy, center, rows, sums, partial);
      std::fill_n(a, at.groups, 0.0);
      std::fill_n(b, at.groups, 0.0);
      for (std::int64_t c = 0; c < at.channels; ++c) {
        a[group_of(c)] += scale(c) * sums.first[c] / at.count();
        b[group_of(c)] += scale(c) * sums.second[c] * inverse(c) / at.count();
      }
      const float* const factor =
          scratch.by_channel(at.channels, [&](auto c) { return scale(c) * inverse(c); });
      const float* const slope = scratch.by_channel(
          at.channels, [&](auto c) { return -inverse(c) * inverse(c) * b[group_of(c)]; });
      const float* const offset =
          scratch.by_channel(at.channels, [&](auto c) { return -inverse(c) * a[group_of(c)]; });
      kernels::channel_gradient(
          x, dy, {.center = center, .scale = factor, .slope = slope, .offset = offset},
          run.output<float>(0) + sample * rows.elements(), rows);
    }
  });
}

// ---- Reference kernels

// Calls f(sample * groups + group, channel, offset) for each element, in any layout.
template <class F>
void for_each_element(const TensorType& x, std::int64_t groups, F&& f) {
  const std::vector<std::int64_t> strides = core::strides(x);
  for (Index i(x.shape); i.valid(); i.next()) {
    f(i[0] * groups + i[1] / (x.shape[1] / groups), i[1], i.offset(strides));
  }
}

void reference_norm(const GroupNorm& a, const Signature& types, const Run& run) {
  const Groups at(types.in[0].shape, a.groups);
  const double n = at.count();
  const std::int64_t each = at.channels / types.in[1].shape[0];  // channels to a scale
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    const auto cells = static_cast<std::size_t>(at.samples * at.groups);
    std::vector<double> mean(cells, 0.0);
    std::vector<double> variance(cells, 0.0);
    for_each_element(types.in[0], a.groups, [&](auto cell, auto, auto i) {
      mean[static_cast<std::size_t>(cell)] += double{x[i]} / n;
    });
    for_each_element(types.in[0], a.groups, [&](auto cell, auto, auto i) {
      const double apart = double{x[i]} - mean[static_cast<std::size_t>(cell)];
      variance[static_cast<std::size_t>(cell)] += apart * apart / n;
    });
    for (std::size_t cell = 0; cell < cells; ++cell) {
      variance[cell] = 1 / std::sqrt(variance[cell] + a.epsilon);
      run.output<T>(1)[cell] = static_cast<T>(mean[cell]);
      run.output<T>(2)[cell] = static_cast<T>(variance[cell]);
    }
    for_each_element(types.in[0], a.groups, [&](auto cell, auto c, auto i) {
      const double z = (double{x[i]} - mean[static_cast<std::size_t>(cell)]) *
                       variance[static_cast<std::size_t>(cell)];
      run.output<T>(0)[i] =
          static_cast<T>(z * double{run.input<T>(1)[c / each]} + double{run.input<T>(2)[c / each]});
    });
  });
}

// z = (x - mean) * inverse deviation of an element.
template <class T>
double normal(const Run& run, std::int64_t cell, std::int64_t i) {
  return (double{run.input<T>(0)[i]} - double{run.input<T>(2)[cell]}) *
         double{run.input<T>(3)[cell]};
}

void reference_reduce(const GroupNormReduce&, const Signature& types, const Run& run) {
  const std::int64_t groups = types.in[2].shape[1];
  const std::int64_t outputs = types.out[0].shape[0];
  const std::int64_t each = outputs == 0 ? 1 : types.in[0].shape[1] / outputs;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> dscale(static_cast<std::size_t>(outputs), 0.0);
    std::vector<double> dbias(static_cast<std::size_t>(outputs), 0.0);
    for_each_element(types.in[0], groups, [&](auto cell, auto c, auto i) {
      const double dy = double{run.input<T>(1)[i]};
      dscale[static_cast<std::size_t>(c / each)] += dy * normal<T>(run, cell, i);
      dbias[static_cast<std::size_t>(c / each)] += dy;
    });
    for (std::size_t i = 0; i < dscale.size(); ++i) {
      run.output<T>(0)[i] = static_cast<T>(dscale[i]);
      run.output<T>(1)[i] = static_cast<T>(dbias[i]);
    }
  });
}

void reference_input_gradient(const GroupNormInputGradient&,
                              const Signature& types,
                              const Run& run) {
  const Groups at(types.in[0].shape, types.in[2].shape[1]);
  const std::int64_t scales = types.in[4].shape[0];
  const std::int64_t each = scales == 0 ? 1 : at.channels / scales;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto scaled = [&](std::int64_t c, std::int64_t i) {
      return double{run.input<T>(1)[i]} * double{run.input<T>(4)[c / each]};
    };
    const auto cells = static_cast<std::size_t>(at.samples * at.groups);
    std::vector<double> a(cells, 0.0);
    std::vector<double> b(cells, 0.0);
    for_each_element(types.in[0], at.groups, [&](auto cell, auto c, auto i) {
      a[static_cast<std::size_t>(cell)] += scaled(c, i) / at.count();
      b[static_cast<std::size_t>(cell)] += scaled(c, i) * normal<T>(run, cell, i) / at.count();
    });
    for_each_element(types.in[0], at.groups, [&](auto cell, auto c, auto i) {
      const double inner = scaled(c, i) - a[static_cast<std::size_t>(cell)] -
                           normal<T>(run, cell, i) * b[static_cast<std::size_t>(cell)];
      run.output<T>(0)[i] = static_cast<T>(inner * double{run.input<T>(3)[cell]});
    });
  });
}

}  // namespace

std::vector<Kernel<GroupNorm>> group_norm_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_of_blocks,
           .run = run_norm},
          {.name = "reference", .run = reference_norm}};
}

std::vector<Kernel<GroupNormReduce>> group_norm_reduce_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_of_blocks,
           .run = run_reduce},
          {.name = "reference", .run = reference_reduce}};
}

std::vector<Kernel<GroupNormInputGradient>> group_norm_input_gradient_kernels() {
  return {{.name = "simd_channels",
           .supports = channel_rows_first,
           .scratch = scratch_of_blocks,
           .run = run_input_gradient},
          {.name = "reference", .run = reference_input_gradient}};
}

}  // namespace lowtide::ops
