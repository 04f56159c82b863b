#include "kernels/simd/elementwise_unary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/elementwise_unary.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// Highway's exponentials hold up to 104, where float already overflows, and lose NaN.
HWY_INLINE V expm1_of(V x) { return nan_kept(x, hn::Expm1(D(), hn::Min(x, number(104.0F)))); }

// Highway's logarithm is for finite numbers above 0.
HWY_INLINE V log_of(V x) {
  const V zero = hn::Zero(D());
  const V inside = hn::IfThenElse(hn::Eq(x, number(INFINITY)), x, hn::Log(D(), x));
  const V outside = hn::IfThenElse(hn::Eq(x, zero), number(-INFINITY), number(NAN));
  return hn::IfThenElse(hn::Gt(x, zero), inside, outside);
}

// Below 1 the Maclaurin series, above it Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
HWY_INLINE V erf_of(V x) {
  constexpr float kTwoOverRootPi = 1.12837917F;
  const V size = hn::Min(hn::Abs(x), number(4.0F));
  const V square = hn::Mul(size, size);
  // (-1)^k / (k! (2k + 1)) for k = 10, 9, ..., 0.
  constexpr std::array kSeries = {1.3122532e-8F, -1.4503852e-7F, 1.4589169e-6F, -1.3227513e-5F,
                                  1.0683761e-4F, -7.5757576e-4F, 4.6296296e-3F, -2.3809524e-2F,
                                  0.1F,          -0.33333333F,   1.0F};
  V series = number(kSeries[0]);
  for (std::size_t k = 1; k < kSeries.size(); ++k) {
    series = hn::MulAdd(series, square, number(kSeries[k]));
  }
  const V near = hn::Mul(hn::Mul(number(kTwoOverRootPi), size), series);
  const V one = number(1.0F);
  const V t = hn::Div(one, hn::MulAdd(number(0.3275911F), size, one));
  V tail = number(1.061405429F);
  for (const float c : {-1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F}) {
    tail = hn::MulAdd(tail, t, number(c));
  }
  const V far = hn::NegMulAdd(hn::Mul(tail, t), hn::Exp(D(), hn::Neg(square)), one);
  const V result = hn::IfThenElse(hn::Lt(size, one), near, far);
  return nan_kept(x, hn::CopySign(result, x));
}

// A scalar function applied lane by lane.
template <float (*kFunction)(float)>
HWY_INLINE V each_lane(V x) {
  HWY_ALIGN float buffer[hn::MaxLanes(D())];
  hn::Store(x, D(), buffer);
  for (std::size_t i = 0; i < hn::Lanes(D()); ++i) buffer[i] = kFunction(buffer[i]);
  return hn::Load(D(), buffer);
}

// One struct a function: its value, and dy times its derivative at v (see the header).
struct Abs {
  static HWY_INLINE V value(P, V x) { return hn::Abs(x); }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V signed_dy = hn::Xor(dy, hn::And(v, hn::SignBit(D())));
    return hn::IfThenZeroElse(hn::Eq(v, hn::Zero(D())), signed_dy);
  }
};

// dy / sqrt(v^2 + shift), and dy / (1 + sign v^2).
HWY_INLINE V over_root(V v, V dy, float shift) {
  return hn::Div(dy, hn::Sqrt(hn::MulAdd(v, v, number(shift))));
}

HWY_INLINE V over_square(V v, V dy, float sign) {
  return hn::Div(dy, hn::MulAdd(hn::Mul(number(sign), v), v, number(1.0F)));
}

HWY_INLINE V arc_gradient(V v, V dy) {
  return hn::Div(dy, hn::Sqrt(hn::NegMulAdd(v, v, number(1.0F))));
}

struct Acos {
  static HWY_INLINE V value(P, V x) { return each_lane<std::acos>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::Neg(arc_gradient(v, dy)); }
};

struct Acosh {
  static HWY_INLINE V value(P, V x) { return each_lane<std::acosh>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return over_root(v, dy, -1.0F); }
};

struct Asin {
  static HWY_INLINE V value(P, V x) { return each_lane<std::asin>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return arc_gradient(v, dy); }
};

struct Asinh {
  static HWY_INLINE V value(P, V x) { return each_lane<std::asinh>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return over_root(v, dy, 1.0F); }
};

struct Atan {
  static HWY_INLINE V value(P, V x) { return each_lane<std::atan>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return over_square(v, dy, 1.0F); }
};

struct Atanh {
  static HWY_INLINE V value(P, V x) { return each_lane<std::atanh>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return over_square(v, dy, -1.0F); }
};

struct Ceil {
  static HWY_INLINE V value(P, V x) { return nan_kept(x, hn::Ceil(x)); }
};

// x > 0 ? slope x : scale (exp(x / width) - 1); the derivative on the left is (y + scale) / width.
HWY_INLINE V elu_value(V x, float slope, float scale, float width) {
  const V left = hn::Mul(number(scale), expm1_of(hn::Div(x, number(width))));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(D())), hn::Mul(number(slope), x), left);
}

HWY_INLINE V elu_gradient(V v, V dy, float slope, float scale, float width) {
  const V left = hn::Div(hn::Add(v, number(scale)), number(width));
  return hn::Mul(dy, hn::IfThenElse(hn::Gt(v, hn::Zero(D())), number(slope), left));
}

struct Celu {
  static HWY_INLINE V value(P p, V x) { return elu_value(x, 1.0F, p.alpha, p.alpha); }
  static HWY_INLINE V gradient(P p, V v, V dy) {
    return elu_gradient(v, dy, 1.0F, p.alpha, p.alpha);
  }
};

struct Elu {
  static HWY_INLINE V value(P p, V x) { return elu_value(x, 1.0F, p.alpha, 1.0F); }
  static HWY_INLINE V gradient(P p, V v, V dy) { return elu_gradient(v, dy, 1.0F, p.alpha, 1.0F); }
};

struct Selu {
  static HWY_INLINE V value(P p, V x) { return elu_value(x, p.beta, p.alpha * p.beta, 1.0F); }
  static HWY_INLINE V gradient(P p, V v, V dy) {
    return elu_gradient(v, dy, p.beta, p.alpha * p.beta, 1.0F);
  }
};

struct Cos {
  static HWY_INLINE V value(P, V x) { return each_lane<std::cos>(x); }
};

struct Cosh {
  static HWY_INLINE V value(P, V x) { return each_lane<std::cosh>(x); }
};

struct Sin {
  static HWY_INLINE V value(P, V x) { return each_lane<std::sin>(x); }
};

struct Sinh {
  static HWY_INLINE V value(P, V x) { return each_lane<std::sinh>(x); }
};

struct Erf {
  static HWY_INLINE V value(P, V x) { return erf_of(x); }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V slope = hn::Mul(number(1.12837917F), exp_of(hn::Neg(hn::Mul(v, v))));
    return hn::Mul(dy, slope);
  }
};

struct Exp {
  static HWY_INLINE V value(P, V x) { return exp_of(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::Mul(dy, v); }
};

struct Floor {
  static HWY_INLINE V value(P, V x) { return nan_kept(x, hn::Floor(x)); }
};

struct Gelu {
  static HWY_INLINE V portion(V x) {  // the normal distribution function
    const V half = number(0.5F);
    return hn::MulAdd(half, erf_of(hn::Mul(x, number(0.70710678F))), half);
  }
  static HWY_INLINE V value(P, V x) { return hn::Mul(x, portion(x)); }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V density = hn::Mul(number(0.39894228F), exp_of(hn::Mul(number(-0.5F), hn::Mul(v, v))));
    return hn::Mul(dy, hn::MulAdd(v, density, portion(v)));
  }
};

// (1 + tanh u) / 2 is sigmoid(2 u), with 2 u = x (kLinear + kCubic x^2).
struct GeluTanh {
  static constexpr float kLinear = 1.59576912F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.07135481F;   // 0.044715 kLinear
  static HWY_INLINE V portion(V x, V square) {
    return sigmoid_of(hn::Mul(x, hn::MulAdd(number(kCubic), square, number(kLinear))));
  }
  static HWY_INLINE V value(P, V x) { return hn::Mul(x, portion(x, hn::Mul(x, x))); }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V square = hn::Mul(v, v);
    const V s = portion(v, square);
    const V inner = hn::MulAdd(number(3.0F * kCubic), square, number(kLinear));
    const V bend = hn::Mul(hn::Mul(v, hn::NegMulAdd(s, s, s)), inner);
    return hn::Mul(dy, hn::Add(s, bend));
  }
};

struct HardSigmoid {
  static HWY_INLINE V value(P p, V x) {
    return clipped(hn::MulAdd(number(p.alpha), x, number(p.beta)), hn::Zero(D()), number(1.0F));
  }
  static HWY_INLINE V gradient(P p, V v, V dy) {
    const auto outside = hn::Or(hn::Le(v, hn::Zero(D())), hn::Ge(v, number(1.0F)));
    return hn::IfThenZeroElse(outside, hn::Mul(number(p.alpha), dy));
  }
};

struct LeakyRelu {
  static HWY_INLINE V value(P p, V x) {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(D())), x, hn::Mul(number(p.alpha), x));
  }
  static HWY_INLINE V gradient(P p, V v, V dy) {
    return hn::IfThenElse(hn::Gt(v, hn::Zero(D())), dy, hn::Mul(number(p.alpha), dy));
  }
};

struct Log {
  static HWY_INLINE V value(P, V x) { return log_of(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::Div(dy, v); }
};

// With e = exp(x) and n = e (e + 2), tanh(softplus(x)) is n / (n + 2); from 20 on it rounds to 1.
struct Mish {
  static HWY_INLINE V value(P, V x) {
    const V two = number(2.0F);
    const V e = exp_of(hn::Min(x, number(20.0F)));
    const V n = hn::Mul(e, hn::Add(e, two));
    return nan_kept(x, hn::Mul(x, hn::Div(n, hn::Add(n, two))));
  }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V one = number(1.0F);
    const V two = number(2.0F);
    const V e = exp_of(hn::Min(v, number(20.0F)));
    const V n = hn::Mul(e, hn::Add(e, two));
    const V part = hn::Div(two, hn::Add(n, two));  // 1 - tanh
    const V bend = hn::Mul(hn::Mul(part, hn::Sub(two, part)), hn::Div(e, hn::Add(e, one)));
    const V slope = hn::MulAdd(v, bend, hn::Sub(one, part));
    const V far = hn::IfThenElse(hn::Gt(v, number(20.0F)), one, slope);
    return hn::Mul(dy, nan_kept(v, far));
  }
};

struct Neg {
  static HWY_INLINE V value(P, V x) { return hn::Neg(x); }
};

struct Reciprocal {
  static HWY_INLINE V value(P, V x) { return hn::Div(number(1.0F), x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::Neg(hn::Mul(dy, hn::Mul(v, v))); }
};

struct Round {
  static HWY_INLINE V value(P, V x) { return nan_kept(x, hn::Round(x)); }
};

struct Scale {
  static HWY_INLINE V value(P p, V x) { return hn::Mul(number(p.alpha), x); }
};

struct Sigmoid {
  static HWY_INLINE V value(P, V x) { return sigmoid_of(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::Mul(dy, hn::NegMulAdd(v, v, v)); }
};

struct Sign {
  static HWY_INLINE V value(P, V x) {
    const V sign = hn::CopySign(number(1.0F), x);
    return nan_kept(x, hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, sign));
  }
};

struct Softplus {
  static HWY_INLINE V value(P, V x) {
    const V tail = hn::Log1p(D(), exp_of(hn::Neg(hn::Abs(x))));
    return nan_kept(x, hn::Add(hn::Max(x, hn::Zero(D())), tail));
  }
  static HWY_INLINE V gradient(P, V v, V dy) {  // 1 - exp(-y)
    return hn::Neg(hn::Mul(dy, expm1_of(hn::Neg(v))));
  }
};

struct Softsign {
  static HWY_INLINE V value(P, V x) { return hn::Div(x, hn::Add(number(1.0F), hn::Abs(x))); }
  static HWY_INLINE V gradient(P, V v, V dy) {
    const V size = hn::Add(number(1.0F), hn::Abs(v));
    return hn::Div(dy, hn::Mul(size, size));
  }
};

struct Sqrt {
  static HWY_INLINE V value(P, V x) { return hn::Sqrt(x); }
  static HWY_INLINE V gradient(P p, V v, V dy) {
    const V product = hn::Div(hn::Mul(number(0.5F), dy), v);
    return p.alpha == 0 ? product : hn::IfThenZeroElse(hn::Eq(v, hn::Zero(D())), product);
  }
};

struct Tan {
  static HWY_INLINE V value(P, V x) { return each_lane<std::tan>(x); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::MulAdd(hn::Mul(v, v), dy, dy); }
};

struct Tanh {
  static HWY_INLINE V value(P, V x) { return nan_kept(x, hn::Tanh(D(), x)); }
  static HWY_INLINE V gradient(P, V v, V dy) { return hn::NegMulAdd(hn::Mul(v, v), dy, dy); }
};

template <class F>
void map(F, P p, const float* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) {
    hn::StoreU(F::value(p, hn::LoadU(D(), x + i)), D(), y + i);
  }
  if (i < n) store_some(F::value(p, load_some(x + i, n - i)), y + i, n - i);
}

template <class F>
void map_gradient(F, P p, const float* v, const float* dy, float* dx, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) {
    hn::StoreU(F::gradient(p, hn::LoadU(D(), v + i), hn::LoadU(D(), dy + i)), D(), dx + i);
  }
  if (i < n) {
    store_some(F::gradient(p, load_some(v + i, n - i), load_some(dy + i, n - i)), dx + i, n - i);
  }
}

}  // namespace

void RunUnary(UnaryFunction function, P p, const float* x, float* y, std::int64_t n) {
  const auto run = [&](auto f) HWY_ATTR { map(f, p, x, y, n); };
  switch (function) {
    case UnaryFunction::kAbs: return run(Abs());
    case UnaryFunction::kAcos: return run(Acos());
    case UnaryFunction::kAcosh: return run(Acosh());
    case UnaryFunction::kAsin: return run(Asin());
    case UnaryFunction::kAsinh: return run(Asinh());
    case UnaryFunction::kAtan: return run(Atan());
    case UnaryFunction::kAtanh: return run(Atanh());
    case UnaryFunction::kCeil: return run(Ceil());
    case UnaryFunction::kCelu: return run(Celu());
    case UnaryFunction::kClip: return run(Clip());
    case UnaryFunction::kCos: return run(Cos());
    case UnaryFunction::kCosh: return run(Cosh());
    case UnaryFunction::kElu: return run(Elu());
    case UnaryFunction::kErf: return run(Erf());
    case UnaryFunction::kExp: return run(Exp());
    case UnaryFunction::kFloor: return run(Floor());
    case UnaryFunction::kGelu: return run(Gelu());
    case UnaryFunction::kGeluTanh: return run(GeluTanh());
    case UnaryFunction::kHardSigmoid: return run(HardSigmoid());
    case UnaryFunction::kHardSwish: return run(HardSwish());
    case UnaryFunction::kLeakyRelu: return run(LeakyRelu());
    case UnaryFunction::kLog: return run(Log());
    case UnaryFunction::kMish: return run(Mish());
    case UnaryFunction::kNeg: return run(Neg());
    case UnaryFunction::kReciprocal: return run(Reciprocal());
    case UnaryFunction::kRelu: return run(Relu());
    case UnaryFunction::kRound: return run(Round());
    case UnaryFunction::kScale: return run(Scale());
    case UnaryFunction::kSelu: return run(Selu());
    case UnaryFunction::kSigmoid: return run(Sigmoid());
    case UnaryFunction::kSign: return run(Sign());
    case UnaryFunction::kSilu: return run(Silu());
    case UnaryFunction::kSin: return run(Sin());
    case UnaryFunction::kSinh: return run(Sinh());
    case UnaryFunction::kSoftplus: return run(Softplus());
    case UnaryFunction::kSoftsign: return run(Softsign());
    case UnaryFunction::kSqrt: return run(Sqrt());
    case UnaryFunction::kTan: return run(Tan());
    case UnaryFunction::kTanh: return run(Tanh());
  }
}

void RunUnaryGradient(
    UnaryFunction function, P p, const float* v, const float* dy, float* dx, std::int64_t n) {
  const auto run = [&](auto f) HWY_ATTR { map_gradient(f, p, v, dy, dx, n); };
  switch (function) {
    case UnaryFunction::kAbs: return run(Abs());
    case UnaryFunction::kAcos: return run(Acos());
    case UnaryFunction::kAcosh: return run(Acosh());
    case UnaryFunction::kAsin: return run(Asin());
    case UnaryFunction::kAsinh: return run(Asinh());
    case UnaryFunction::kAtan: return run(Atan());
    case UnaryFunction::kAtanh: return run(Atanh());
    case UnaryFunction::kCelu: return run(Celu());
    case UnaryFunction::kClip: return run(Clip());
    case UnaryFunction::kElu: return run(Elu());
    case UnaryFunction::kErf: return run(Erf());
    case UnaryFunction::kExp: return run(Exp());
    case UnaryFunction::kGelu: return run(Gelu());
    case UnaryFunction::kGeluTanh: return run(GeluTanh());
    case UnaryFunction::kHardSigmoid: return run(HardSigmoid());
    case UnaryFunction::kHardSwish: return run(HardSwish());
    case UnaryFunction::kLeakyRelu: return run(LeakyRelu());
    case UnaryFunction::kLog: return run(Log());
    case UnaryFunction::kMish: return run(Mish());
    case UnaryFunction::kReciprocal: return run(Reciprocal());
    case UnaryFunction::kRelu: return run(Relu());
    case UnaryFunction::kSelu: return run(Selu());
    case UnaryFunction::kSigmoid: return run(Sigmoid());
    case UnaryFunction::kSilu: return run(Silu());
    case UnaryFunction::kSoftplus: return run(Softplus());
    case UnaryFunction::kSoftsign: return run(Softsign());
    case UnaryFunction::kSqrt: return run(Sqrt());
    case UnaryFunction::kTan: return run(Tan());
    case UnaryFunction::kTanh: return run(Tanh());
    default: LT_CHECK(false, "a function without a gradient kernel");
  }
}

// Vectors of eight floats: one byte of the mask each.
using D8 = hn::CappedTag<float, 8>;

void RunRangeMask(const float* y, float low, float high, std::uint8_t* mask, std::int64_t n) {
  const D8 d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto floor = hn::Set(d, low);
  const auto ceiling = hn::Set(d, high);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    unsigned bits = 0;
    for (std::int64_t j = 0; j < 8; j += step) {
      const auto v = hn::LoadU(d, y + i + j);
      const auto outside = hn::Or(hn::Le(v, floor), hn::Ge(v, ceiling));
      std::uint8_t part[8] = {};
      hn::StoreMaskBits(d, hn::Not(outside), part);
      bits |= static_cast<unsigned>(part[0]) << static_cast<unsigned>(j);
    }
    mask[i / 8] = static_cast<std::uint8_t>(bits);
  }
  if (i < n) {
    unsigned bits = 0;
    for (std::int64_t j = 0; i + j < n; ++j) {
      const bool inside = !(y[i + j] <= low) && !(y[i + j] >= high);
      bits |= static_cast<unsigned>(inside) << static_cast<unsigned>(j);
    }
    mask[i / 8] = static_cast<std::uint8_t>(bits);
  }
}

void RunMaskGradient(const std::uint8_t* mask, const float* dy, float* dx, std::int64_t n) {
  const D8 d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::int64_t j = 0; j < 8; j += step) {
      const std::uint8_t part[8] = {static_cast<std::uint8_t>(mask[i / 8] >> j)};
      const auto inside = hn::LoadMaskBits(d, part);
      hn::StoreU(hn::IfThenElseZero(inside, hn::LoadU(d, dy + i + j)), d, dx + i + j);
    }
  }
  for (; i < n; ++i) dx[i] = ((mask[i / 8] >> (i % 8)) & 1) != 0 ? dy[i] : 0.0F;
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(RunUnary);
HWY_EXPORT(RunUnaryGradient);
HWY_EXPORT(RunRangeMask);
HWY_EXPORT(RunMaskGradient);

namespace {
constexpr std::int64_t kElementsPerThread = 16384;
}

void unary(UnaryFunction f, UnaryParameters p, const float* x, float* y, std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(RunUnary)(f, p, x + begin, y + begin, end - begin);
  });
}

void unary_gradient(UnaryFunction f,
                    UnaryParameters p,
                    const float* v,
                    const float* dy,
                    float* dx,
                    std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(RunUnaryGradient)
    (f, p, v + begin, dy + begin, dx + begin, end - begin);
  });
}

// Threads share no byte of the mask: ranges are split between groups of eight.
void range_mask(const float* y, float low, float high, std::uint8_t* mask, std::int64_t n) {
  core::parallel_for((n + 7) / 8, kElementsPerThread / 8,
                     [&](std::int64_t begin, std::int64_t end) {
                       HWY_DYNAMIC_DISPATCH(RunRangeMask)
                       (y + begin * 8, low, high, mask + begin, std::min(end * 8, n) - begin * 8);
                     });
}

void mask_gradient(const std::uint8_t* mask, const float* dy, float* dx, std::int64_t n) {
  core::parallel_for(
      (n + 7) / 8, kElementsPerThread / 8, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(RunMaskGradient)
        (mask + begin, dy + begin * 8, dx + begin * 8, std::min(end * 8, n) - begin * 8);
      });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
