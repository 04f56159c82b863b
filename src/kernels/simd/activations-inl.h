// The activations that follow a normalisation in one pass, once for each instruction set: a struct
// each, with the value at x, and dy times the derivative at v (see elementwise_unary.h).
#if defined(LOWTIDE_KERNELS_SIMD_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_ACTIVATIONS_INL_H_
#undef LOWTIDE_KERNELS_SIMD_ACTIVATIONS_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_ACTIVATIONS_INL_H_
#endif

#include "kernels/simd/elementwise_unary.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {

using P = UnaryParameters;

// A number in every lane of a vector like v.
template <class Vector>
HWY_INLINE Vector number_like(Vector, float value) {
  return hn::Set(hn::DFromV<Vector>(), value);
}

HWY_INLINE V number(float value) { return hn::Set(D(), value); }

HWY_INLINE V nan_kept(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

template <class Vector>
HWY_INLINE Vector sigmoid_of(Vector x) {
  const Vector one = number_like(x, 1.0F);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

template <class Vector>
HWY_INLINE Vector clipped(Vector x, Vector low, Vector high) {
  const Vector raised = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}

struct Clip {
  template <class Vector>
  static HWY_INLINE Vector value(P p, Vector x) {
    return clipped(x, number_like(x, p.alpha), number_like(x, p.beta));
  }
  template <class Vector>
  static HWY_INLINE Vector gradient(P p, Vector v, Vector dy) {
    const auto low = hn::Le(v, number_like(v, p.alpha));
    return hn::IfThenZeroElse(hn::Or(low, hn::Ge(v, number_like(v, p.beta))), dy);
  }
};

struct HardSwish {
  template <class Vector>
  static HWY_INLINE Vector value(P, Vector x) {
    const Vector one = number_like(x, 1.0F);
    const Vector ramp = hn::MulAdd(number_like(x, 1.0F / 6.0F), x, number_like(x, 0.5F));
    return hn::Mul(x, clipped(ramp, hn::Zero(hn::DFromV<Vector>()), one));
  }
  template <class Vector>
  static HWY_INLINE Vector gradient(P, Vector v, Vector dy) {
    const Vector slope = hn::MulAdd(number_like(v, 1.0F / 3.0F), v, number_like(v, 0.5F));
    const auto above = hn::Ge(v, number_like(v, 3.0F));
    const Vector inside = hn::IfThenElse(above, dy, hn::Mul(dy, slope));
    return hn::IfThenZeroElse(hn::Le(v, number_like(v, -3.0F)), inside);
  }
};

struct Relu {
  template <class Vector>
  static HWY_INLINE Vector value(P, Vector x) {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(hn::DFromV<Vector>())), x);
  }
  template <class Vector>
  static HWY_INLINE Vector gradient(P, Vector v, Vector dy) {
    return hn::IfThenZeroElse(hn::Le(v, hn::Zero(hn::DFromV<Vector>())), dy);
  }
};

struct Silu {
  template <class Vector>
  static HWY_INLINE Vector value(P, Vector x) {
    return hn::Mul(x, sigmoid_of(x));
  }
  template <class Vector>
  static HWY_INLINE Vector gradient(P, Vector v, Vector dy) {
    const Vector s = sigmoid_of(v);
    return hn::Mul(dy, hn::MulAdd(v, hn::NegMulAdd(s, s, s), s));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
