#include "kernels/simd/norm/normalize_activate.h"

#include <algorithm>

#include "core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/norm/normalize_activate.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/norm/normalized_input-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTogether = 4;

void AffineActivate(
    const float* x, const ChannelAffine& c, const ChannelActivation& f, float* y, std::int64_t n) {
  with_activation(f.function, [&](auto activation) HWY_ATTR {
    for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto z = mapped_at(d, x + i, c, i);
      hn::StoreU(decltype(activation)::value(f.p, z), d, y + i);
    });
  });
}

void ActivationGradient(const float* x,
                        const float* dy,
                        const ChannelAffine& c,
                        const ChannelActivation& f,
                        const ChannelSlopes& s,
                        float* dx,
                        std::int64_t n) {
  with_activation(f.function, [&](auto activation) HWY_ATTR {
    for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto moved = moved_at(d, x + i, c.center, i);
      const auto z = mapped(d, moved, c, i);
      const auto g = decltype(activation)::gradient(f.p, z, hn::LoadU(d, dy + i));
      const auto inner = hn::MulAdd(moved, hn::LoadU(d, s.slope + i), hn::LoadU(d, s.offset + i));
      hn::StoreU(hn::MulAdd(g, hn::LoadU(d, s.scale + i), inner), d, dx + i);
    });
  });
}

// Adds f(float tag, row, i) -> {g, moved} of kRows rows to the sums, which are loaded and stored
// once for all.
template <int kRows, class F>
HWY_ATTR void add_rows(std::int64_t n, const ChannelSums& sums, F&& f) {
  for_each_wide_vector(n, [&](auto d, auto narrow, std::int64_t i) HWY_ATTR {
    auto first = hn::LoadU(d, sums.first + i);
    auto second = hn::LoadU(d, sums.second + i);
    for (int row = 0; row < kRows; ++row) {
      auto moved = hn::Zero(narrow);
      const auto g = hn::PromoteTo(d, f(narrow, row, i, moved));
      first = hn::Add(first, g);
      second = hn::MulAdd(g, hn::PromoteTo(d, moved), second);
    }
    hn::StoreU(first, d, sums.first + i);
    hn::StoreU(second, d, sums.second + i);
  });
}

// add_rows over `elements` from `at` on, with f(float tag, element, i, moved).
template <class F>
HWY_ATTR void add_all_rows(std::int64_t period,
                           std::int64_t elements,
                           const ChannelSums& sums,
                           F&& f) {
  std::int64_t at = 0;
  const auto of_row = [&](auto narrow, int row, std::int64_t i, auto& moved)
                          HWY_ATTR { return f(narrow, at + row * period + i, i, moved); };
  for (; at + kTogether * period <= elements; at += kTogether * period) {
    add_rows<kTogether>(period, sums, of_row);
  }
  for (; at < elements; at += period) {
    add_rows<1>(std::min(period, elements - at), sums, of_row);
  }
}

void ActivationSums(const float* x,
                    const float* dy,
                    std::int64_t n,
                    const ChannelAffine& c,
                    const ChannelActivation& f,
                    std::int64_t period,
                    const ChannelSums& sums) {
  with_activation(f.function, [&](auto activation) HWY_ATTR {
    add_all_rows(period, n, sums,
                 [&](auto d, std::int64_t element, std::int64_t i, auto& moved) HWY_ATTR {
                   moved = moved_at(d, x + element, c.center, i);
                   const auto z = mapped(d, moved, c, i);
                   return decltype(activation)::gradient(f.p, z, hn::LoadU(d, dy + element));
                 });
  });
}

// The mask of the lanes from `element` on. A vector of at most 8 lanes lies within one byte: its
// first element's number is a multiple of its lanes.
template <class Tag>
HWY_INLINE hn::Mask<Tag> bits_at(Tag d, const std::uint8_t* mask, std::int64_t element) {
  const std::uint8_t part[8] = {static_cast<std::uint8_t>(mask[element / 8] >> (element % 8))};
  return hn::LoadMaskBits(d, part);
}

// `first` is the number of x[0] in the mask.
void MaskedSums(const float* x,
                const float* dy,
                std::int64_t n,
                const float* more,
                const std::uint8_t* mask,
                std::int64_t first,
                const float* center,
                float* g,
                std::int64_t period,
                const ChannelSums& sums) {
  const auto gated = [&](auto d, std::int64_t element, std::int64_t i, auto& moved,
                         auto gradient) HWY_ATTR {
    const auto kept = hn::IfThenElseZero(bits_at(d, mask, first + element), gradient);
    hn::StoreU(kept, d, g + element);
    moved = moved_at(d, x + element, center, i);
    return kept;
  };
  if (more == nullptr) {
    add_all_rows(period, n, sums,
                 [&](auto d, std::int64_t element, std::int64_t i, auto& moved)
                     HWY_ATTR { return gated(d, element, i, moved, hn::LoadU(d, dy + element)); });
    return;
  }
  add_all_rows(period, n, sums,
               [&](auto d, std::int64_t element, std::int64_t i, auto& moved) HWY_ATTR {
                 const auto sum = hn::Add(hn::LoadU(d, dy + element), hn::LoadU(d, more + element));
                 return gated(d, element, i, moved, sum);
               });
}

// n is a multiple of 8, and mask points to the byte of x[0].
void AffineAddRelu(const float* x,
                   const ChannelAffine& c,
                   const float* residual,
                   float* y,
                   std::uint8_t* mask,
                   std::int64_t n) {
  const hn::CappedTag<float, 8> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  for (std::int64_t i = 0; i < n; i += 8) {
    unsigned bits = 0;
    for (std::int64_t j = i; j < i + 8; j += step) {
      const auto normal = mapped_at(d, x + j, c, j);
      const auto z = hn::Add(normal, hn::LoadU(d, residual + j));
      const auto below = hn::Le(z, zero);
      hn::StoreU(hn::IfThenZeroElse(below, z), d, y + j);
      std::uint8_t part[8] = {};
      hn::StoreMaskBits(d, hn::Not(below), part);
      bits |= static_cast<unsigned>(part[0]) << static_cast<unsigned>(j - i);
    }
    mask[i / 8] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(AffineActivate);
HWY_EXPORT(AffineAddRelu);
HWY_EXPORT(ActivationSums);
HWY_EXPORT(ActivationGradient);
HWY_EXPORT(MaskedSums);

bool can_follow_affine(UnaryFunction function) {
  return function == UnaryFunction::kClip || function == UnaryFunction::kHardSwish ||
         function == UnaryFunction::kRelu || function == UnaryFunction::kSilu;
}

void channel_affine_activate(const float* x,
                             const ChannelAffine& affine,
                             const ChannelActivation& f,
                             float* y,
                             const ChannelRows& shape) {
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(AffineActivate)(x + at, affine, f, y + at, n);
  });
}

void channel_activation_sums(const float* x,
                             const float* dy,
                             const ChannelAffine& affine,
                             const ChannelActivation& f,
                             const ChannelRows& shape,
                             const ChannelSums& sums,
                             double* scratch) {
  const std::int64_t period = channel_period(shape.channels);
  sum_blocks(shape, sums, scratch, [&](std::int64_t at, std::int64_t n, const ChannelSums& own) {
    HWY_DYNAMIC_DISPATCH(ActivationSums)(x + at, dy + at, n, affine, f, period, own);
  });
}

void channel_activation_gradient(const float* x,
                                 const float* dy,
                                 const ChannelAffine& affine,
                                 const ChannelActivation& f,
                                 const ChannelSlopes& by_channel,
                                 float* dx,
                                 const ChannelRows& shape) {
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(ActivationGradient)
    (x + at, dy + at, affine, f, by_channel, dx + at, n);
  });
}

void channel_affine_add_relu(const float* x,
                             const ChannelAffine& affine,
                             const float* residual,
                             float* y,
                             std::uint8_t* mask,
                             const ChannelRows& shape) {
  LT_CHECK(shape.channels % 8 == 0, "threads must share no byte of the mask");
  for_each_period(shape, [&](std::int64_t at, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(AffineAddRelu)
    (x + at, affine, residual + at, y + at, mask + at / 8, n);
  });
}

void channel_masked_sums(const float* x,
                         const float* dy,
                         const float* more,
                         const std::uint8_t* mask,
                         const float* center,
                         float* g,
                         const ChannelRows& shape,
                         const ChannelSums& sums,
                         double* scratch) {
  LT_CHECK(shape.channels % 8 == 0, "vectors must lie within bytes of the mask");
  const std::int64_t period = channel_period(shape.channels);
  sum_blocks(shape, sums, scratch, [&](std::int64_t at, std::int64_t n, const ChannelSums& own) {
    HWY_DYNAMIC_DISPATCH(MaskedSums)
    (x + at, dy + at, n, more == nullptr ? nullptr : more + at, mask, at, center, g + at, period,
     own);
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
