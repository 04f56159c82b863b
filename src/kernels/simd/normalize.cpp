#include "kernels/simd/normalize.h"

#include <algorithm>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/normalize.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h: its own order.
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// The same over vectors of double, for sums: f(double tag, tag of as many floats, i).
template <class F>
HWY_ATTR void for_each_wide_vector(std::int64_t n, F&& f) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, hn::Rebind<float, decltype(d)>(), i);
  for (; i < n; ++i) f(one, hn::Rebind<float, decltype(one)>(), i);
}

// Adds kRows rows of n elements, `stride` apart, so that a sum is loaded and stored once for all.
template <int kRows>
HWY_ATTR void add_moments(const float* x,
                          std::int64_t stride,
                          const float* shift,
                          std::int64_t n,
                          const ChannelSums& sums) {
  for_each_wide_vector(n, [&](auto d, auto narrow, std::int64_t i) HWY_ATTR {
    const auto origin = hn::PromoteTo(d, hn::LoadU(narrow, shift + i));
    auto first = hn::LoadU(d, sums.first + i);
    auto second = hn::LoadU(d, sums.second + i);
    for (int row = 0; row < kRows; ++row) {
      const auto v = hn::PromoteTo(d, hn::LoadU(narrow, x + row * stride + i));
      const auto moved = hn::Sub(v, origin);
      first = hn::Add(first, moved);
      second = hn::MulAdd(moved, moved, second);
    }
    hn::StoreU(first, d, sums.first + i);
    hn::StoreU(second, d, sums.second + i);
  });
}

template <int kRows>
HWY_ATTR void add_gradients(const float* x,
                            const float* dy,
                            std::int64_t stride,
                            const float* center,
                            std::int64_t n,
                            const ChannelSums& sums) {
  for_each_wide_vector(n, [&](auto d, auto narrow, std::int64_t i) HWY_ATTR {
    const auto origin = hn::PromoteTo(d, hn::LoadU(narrow, center + i));
    auto first = hn::LoadU(d, sums.first + i);
    auto second = hn::LoadU(d, sums.second + i);
    for (int row = 0; row < kRows; ++row) {
      const auto v = hn::PromoteTo(d, hn::LoadU(narrow, x + row * stride + i));
      const auto g = hn::PromoteTo(d, hn::LoadU(narrow, dy + row * stride + i));
      first = hn::Add(first, g);
      second = hn::MulAdd(g, hn::Sub(v, origin), second);
    }
    hn::StoreU(first, d, sums.first + i);
    hn::StoreU(second, d, sums.second + i);
  });
}

constexpr std::int64_t kTogether = 4;

HWY_ATTR void Moments(const float* x,
                      const float* shift,
                      std::int64_t period,
                      std::int64_t elements,
                      const ChannelSums& sums) {
  std::int64_t at = 0;
  for (; at + kTogether * period <= elements; at += kTogether * period) {
    add_moments<kTogether>(x + at, period, shift, period, sums);
  }
  for (; at < elements; at += period) {
    add_moments<1>(x + at, period, shift, std::min(period, elements - at), sums);
  }
}

HWY_ATTR void GradientSums(const float* x,
                           const float* dy,
                           const float* center,
                           std::int64_t period,
                           std::int64_t elements,
                           const ChannelSums& sums) {
  std::int64_t at = 0;
  for (; at + kTogether * period <= elements; at += kTogether * period) {
    add_gradients<kTogether>(x + at, dy + at, period, center, period, sums);
  }
  for (; at < elements; at += period) {
    add_gradients<1>(x + at, dy + at, period, center, std::min(period, elements - at), sums);
  }
}

HWY_ATTR void Affine(const float* x,
                     const float* center,
                     const float* scale,
                     const float* offset,
                     float* y,
                     std::int64_t n) {
  for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto moved = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, center + i));
    const auto result = hn::MulAdd(moved, hn::LoadU(d, scale + i), hn::LoadU(d, offset + i));
    hn::StoreU(result, d, y + i);
  });
}

HWY_ATTR void Gradient(
    const float* x, const float* dy, const ChannelSlopes& c, float* dx, std::int64_t n) {
  for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto moved = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, c.center + i));
    const auto inner = hn::MulAdd(moved, hn::LoadU(d, c.slope + i), hn::LoadU(d, c.offset + i));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, dy + i), hn::LoadU(d, c.scale + i), inner), d, dx + i);
  });
}

HWY_ATTR void Scale(const float* x, const float* scale, float* y, std::int64_t n) {
  for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, scale + i)), d, y + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(Moments);
HWY_EXPORT(GradientSums);
HWY_EXPORT(Affine);
HWY_EXPORT(Gradient);
HWY_EXPORT(Scale);

namespace {

constexpr std::int64_t kLeastPeriod = 512;  // elements: dozens of vectors for each remainder
constexpr std::int64_t kElementsPerThread = 16384;
constexpr std::int64_t kMostBlocks = 16;
constexpr std::int64_t kPeriodsPerBlock = 32;  // rows summed for each double of scratch

std::int64_t periods(const ChannelRows& x) {
  const std::int64_t period = channel_period(x.channels);
  return (x.elements() + period - 1) / period;
}

std::int64_t blocks(const ChannelRows& x) {
  return std::clamp<std::int64_t>(periods(x) / kPeriodsPerBlock, 1, kMostBlocks);
}

// Sums block by block into scratch with f(first element, elements, sums of one period), then over
// blocks and repetitions.
template <class F>
void sum_blocks(const ChannelRows& x, const ChannelSums& sums, double* scratch, F&& f) {
  std::fill_n(sums.first, x.channels, 0.0);
  std::fill_n(sums.second, x.channels, 0.0);
  if (x.elements() == 0) return;
  const std::int64_t period = channel_period(x.channels);
  const std::int64_t count = blocks(x);
  const std::int64_t all = periods(x);
  core::parallel_for(count, kElementsPerThread * count / x.elements() + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t block = begin; block < end; ++block) {
                         double* const own = scratch + block * 2 * period;
                         std::fill_n(own, 2 * period, 0.0);
                         const std::int64_t from = all * block / count * period;
                         const std::int64_t to =
                             std::min(all * (block + 1) / count * period, x.elements());
                         f(from, to - from, ChannelSums{own, own + period});
                       }
                     });
  for (std::int64_t block = 0; block < count; ++block) {
    const double* const own = scratch + block * 2 * period;
    for (std::int64_t at = 0; at < period; at += x.channels) {
      for (std::int64_t c = 0; c < x.channels; ++c) {
        sums.first[c] += own[at + c];
        sums.second[c] += own[period + at + c];
      }
    }
  }
}

// Calls f(first element, elements) for each stretch of one period.
template <class F>
void for_each_period(const ChannelRows& x, F&& f) {
  if (x.elements() == 0) return;
  const std::int64_t period = channel_period(x.channels);
  core::parallel_for(periods(x), kElementsPerThread / period + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t at = begin * period; at < end * period; at += period) {
                         f(at, std::min(period, x.elements() - at));
                       }
                     });
}

}  // namespace

std::int64_t channel_period(std::int64_t channels) {
  if (channels == 0) return 1;
  return channels * std::max<std::int64_t>((kLeastPeriod + channels - 1) / channels, 1);
}

void repeat_channels(std::span<float> values, std::int64_t channels) {
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t i = step; i < values.size(); ++i) values[i] = values[i - step];
}

std::int64_t channel_sums_scratch(const ChannelRows& x) {
  return 2 * blocks(x) * channel_period(x.channels);
}

void channel_moments(const float* x,
                     const float* shift,
                     const ChannelRows& shape,
                     const ChannelSums& sums,
                     double* scratch) {
  const std::int64_t period = channel_period(shape.channels);
  sum_blocks(shape, sums, scratch, [&](std::int64_t at, std::int64_t n, const ChannelSums& own) {
    HWY_DYNAMIC_DISPATCH(Moments)(x + at, shift, period, n, own);
  });
}

void channel_gradient_sums(const float* x,
                           const float* dy,
                           const float* center,
                           const ChannelRows& shape,
                           const ChannelSums& sums,
                           double* scratch) {
  const std::int64_t period = channel_period(shape.channels);
  sum_blocks(shape, sums, scratch, [&](std::int64_t at, std::int64_t n, const ChannelSums& own) {
    HWY_DYNAMIC_DISPATCH(GradientSums)(x + at, dy + at, center, period, n, own);
  });
}

void channel_affine(const float* x,
                    const float* center,
                    const float* scale,
                    const float* offset,
                    float* y,
                    const ChannelRows& shape) {
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(Affine)(x + at, center, scale, offset, y + at, n);
  });
}

void channel_gradient(const float* x,
                      const float* dy,
                      const ChannelSlopes& by_channel,
                      float* dx,
                      const ChannelRows& shape) {
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(Gradient)(x + at, dy + at, by_channel, dx + at, n);
  });
}

void channel_scale(const float* x, const float* scale, float* y, const ChannelRows& shape) {
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(Scale)(x + at, scale, y + at, n);
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
