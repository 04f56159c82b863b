// The coefficients of a batch normalisation by channel, made alike wherever they are needed, so
// that all see the same bits before the activation.
#pragma once

#include "graph/kernel.h"
#include "kernels/simd/norm/normalized_input.h"
#include "ops/channels.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

struct Coefficients {
  const float* mean;
  const float* inverse;
  const float* scale;
  const float* bias;

  // Of the inputs `first` and on: mean, inverse deviation, scale, bias.
  Coefficients(const graph::Run& run, std::size_t first)
      : mean(run.input<float>(first)),
        inverse(run.input<float>(first + 1)),
        scale(run.input<float>(first + 2)),
        bias(run.input<float>(first + 3)) {}

  [[nodiscard]] double factor(std::int64_t c) const {
    return double{scale[c]} * double{inverse[c]};
  }

  // array(f) is an array with f(c) for each channel.
  template <class MakeArray>
  kernels::ChannelAffine affine(MakeArray&& array) const {
    const float* const center = array([&](auto c) { return mean[c]; });
    const float* const factors = array([&](auto c) { return factor(c); });
    const float* const offset = array([&](auto c) { return bias[c]; });
    return {.center = center, .scale = factors, .offset = offset};
  }

  // Repeated as kernels want whole rows.
  kernels::ChannelAffine affine(ScratchCursor& scratch, std::int64_t channels) const {
    return affine([&](auto&& value) { return scratch.by_channel(channels, value); });
  }
};

inline kernels::ChannelActivation activation_of(const Unary& f) {
  return {.function = f.kind,
          .p = {.alpha = static_cast<float>(f.alpha), .beta = static_cast<float>(f.beta)}};
}

}  // namespace lowtide::ops
