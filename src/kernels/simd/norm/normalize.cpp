#include "kernels/simd/norm/normalize.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/norm/normalize.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h: its own order.
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

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
