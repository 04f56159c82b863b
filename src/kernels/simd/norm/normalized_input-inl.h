// Elements of a batch normalisation with what follows it, once for each instruction set.
#if defined(LOWTIDE_KERNELS_SIMD_NORM_NORMALIZED_INPUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_NORM_NORMALIZED_INPUT_INL_H_
#undef LOWTIDE_KERNELS_SIMD_NORM_NORMALIZED_INPUT_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_NORM_NORMALIZED_INPUT_INL_H_
#endif

#include "core/check.h"
#include "kernels/simd/activations-inl.h"
#include "kernels/simd/norm/normalized_input.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {

// x - center and the affine map of it; the coefficients begin at channel i.
template <class Tag>
HWY_INLINE hn::Vec<Tag> moved_at(Tag d, const float* x, const float* center, std::int64_t i) {
  return hn::Sub(hn::LoadU(d, x), hn::LoadU(d, center + i));
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> mapped(Tag d, hn::Vec<Tag> moved, const ChannelAffine& c, std::int64_t i) {
  return hn::MulAdd(moved, hn::LoadU(d, c.scale + i), hn::LoadU(d, c.offset + i));
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> mapped_at(Tag d, const float* x, const ChannelAffine& c, std::int64_t i) {
  return mapped(d, moved_at(d, x, c.center, i), c, i);
}

// Calls f(activation struct) for one of those that may follow.
template <class F>
HWY_ATTR void with_activation(UnaryFunction function, F&& f) {
  switch (function) {
    case UnaryFunction::kClip: return f(Clip());
    case UnaryFunction::kHardSwish: return f(HardSwish());
    case UnaryFunction::kRelu: return f(Relu());
    case UnaryFunction::kSilu: return f(Silu());
    default: break;
  }
  LT_CHECK(false, "an activation that may follow a normalisation");
}

// Calls f(value), where value(tag, p, channel) is y for the elements of x from p on, whose first is
// of that channel.
template <class F>
HWY_ATTR void with_normalized(const NormalizedInput& from, const float* x, F&& f) {
  const ChannelAffine& c = from.affine;
  if (from.residual != nullptr) {
    const float* const residual = from.residual;
    f([&, x, residual](auto d, const float* p, std::int64_t channel) HWY_ATTR {
      const auto z = hn::Add(mapped_at(d, p, c, channel), hn::LoadU(d, residual + (p - x)));
      return Relu::value(P(), z);
    });
    return;
  }
  with_activation(from.f.function, [&](auto activation) HWY_ATTR {
    f([&](auto d, const float* p, std::int64_t channel)
          HWY_ATTR { return decltype(activation)::value(from.f.p, mapped_at(d, p, c, channel)); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
