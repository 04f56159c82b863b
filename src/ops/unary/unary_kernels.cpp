#include "ops/unary/unary_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace lowtide::ops {
namespace {

using graph::Run;
using graph::Signature;

kernels::UnaryParameters parameters(const Unary& a) {
  return {.alpha = static_cast<float>(a.alpha), .beta = static_cast<float>(a.beta)};
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// The distribution function of the standard normal distribution.
double normal_portion(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// The argument of Gelu's tanh, twice: (1 + tanh u) / 2 is sigmoid(2 u).
double gelu_bend(double x) {
  return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// NaN passes through: every comparison with it is false.
double clipped(double x, double low, double high) {
  const double raised = x < low ? low : x;
  return raised > high ? high : raised;
}

double value(const Unary& a, double x) {
  switch (a.kind) {
    case UnaryKind::kAbs: return std::abs(x);
    case UnaryKind::kAcos: return std::acos(x);
    case UnaryKind::kAcosh: return std::acosh(x);
    case UnaryKind::kAsin: return std::asin(x);
    case UnaryKind::kAsinh: return std::asinh(x);
    case UnaryKind::kAtan: return std::atan(x);
    case UnaryKind::kAtanh: return std::atanh(x);
    case UnaryKind::kCeil: return std::ceil(x);
    case UnaryKind::kCelu: return x > 0 ? x : a.alpha * std::expm1(x / a.alpha);
    case UnaryKind::kClip: return clipped(x, a.alpha, a.beta);
    case UnaryKind::kCos: return std::cos(x);
    case UnaryKind::kCosh: return std::cosh(x);
    case UnaryKind::kElu: return x > 0 ? x : a.alpha * std::expm1(x);
    case UnaryKind::kErf: return std::erf(x);
    case UnaryKind::kExp: return std::exp(x);
    case UnaryKind::kFloor: return std::floor(x);
    case UnaryKind::kGelu: return x * normal_portion(x);
    case UnaryKind::kGeluTanh: return x * sigmoid_of(gelu_bend(x));
    case UnaryKind::kHardSigmoid: return clipped(a.alpha * x + a.beta, 0, 1);
    case UnaryKind::kHardSwish: return x * clipped(x / 6 + 0.5, 0, 1);
    case UnaryKind::kLeakyRelu: return x > 0 ? x : a.alpha * x;
    case UnaryKind::kLog: return std::log(x);
    case UnaryKind::kMish: return x * std::tanh(softplus_of(x));
    case UnaryKind::kNeg: return -x;
    case UnaryKind::kReciprocal: return 1 / x;
    case UnaryKind::kRelu: return x <= 0 ? 0 : x;
    case UnaryKind::kRound: return std::nearbyint(x);
    case UnaryKind::kScale: return a.alpha * x;
    case UnaryKind::kSelu: return a.beta * (x > 0 ? x : a.alpha * std::expm1(x));
    case UnaryKind::kSigmoid: return sigmoid_of(x);
    case UnaryKind::kSign: return sign_of(x);
    case UnaryKind::kSilu: return x * sigmoid_of(x);
    case UnaryKind::kSin: return std::sin(x);
    case UnaryKind::kSinh: return std::sinh(x);
    case UnaryKind::kSoftplus: return softplus_of(x);
    case UnaryKind::kSoftsign: return x / (1 + std::abs(x));
    case UnaryKind::kSqrt: return std::sqrt(x);
    case UnaryKind::kTan: return std::tan(x);
    case UnaryKind::kTanh: return std::tanh(x);
  }
  LT_CHECK(false, "an unknown kind");
}

// f'(x) where it is a function of the output, v = y.
double derivative_at_output(const Unary& a, double v) {
  switch (a.kind) {
    case UnaryKind::kCelu: return v > 0 ? 1 : (v + a.alpha) / a.alpha;
    case UnaryKind::kClip: return v <= a.alpha || v >= a.beta ? 0 : 1;
    case UnaryKind::kElu: return v > 0 ? 1 : v + a.alpha;
    case UnaryKind::kExp: return v;
    case UnaryKind::kHardSigmoid: return v <= 0 || v >= 1 ? 0 : a.alpha;
    case UnaryKind::kLeakyRelu: return v > 0 ? 1 : a.alpha;
    case UnaryKind::kReciprocal: return -v * v;
    case UnaryKind::kRelu: return v <= 0 ? 0 : 1;
    case UnaryKind::kSelu: return v > 0 ? a.beta : v + a.alpha * a.beta;
    case UnaryKind::kSigmoid: return v * (1 - v);
    case UnaryKind::kSoftplus: return -std::expm1(-v);
    case UnaryKind::kSqrt: return a.alpha != 0 && v == 0 ? 0 : 0.5 / v;
    case UnaryKind::kTan: return 1 + v * v;
    case UnaryKind::kTanh: return 1 - v * v;
    default: break;
  }
  LT_CHECK(false, "a kind whose derivative is no function of its output");
}

// f'(x) at v = x.
double derivative_at_input(const Unary& a, double v) {
  switch (a.kind) {
    case UnaryKind::kAbs: return sign_of(v);
    case UnaryKind::kAcos: return -1 / std::sqrt(1 - v * v);
    case UnaryKind::kAcosh: return 1 / std::sqrt(v * v - 1);
    case UnaryKind::kAsin: return 1 / std::sqrt(1 - v * v);
    case UnaryKind::kAsinh: return 1 / std::sqrt(v * v + 1);
    case UnaryKind::kAtan: return 1 / (1 + v * v);
    case UnaryKind::kAtanh: return 1 / (1 - v * v);
    case UnaryKind::kCelu: return v > 0 ? 1 : std::exp(v / a.alpha);
    case UnaryKind::kElu: return v > 0 ? 1 : a.alpha * std::exp(v);
    case UnaryKind::kErf: return 2 * std::numbers::inv_sqrtpi * std::exp(-v * v);
    case UnaryKind::kGelu: {
      const double density = std::exp(-v * v / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return normal_portion(v) + v * density;
    }
    case UnaryKind::kGeluTanh: {
      const double s = sigmoid_of(gelu_bend(v));
      const double inner = 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * v * v);
      return s + v * s * (1 - s) * inner;
    }
    case UnaryKind::kHardSwish: return v <= -3 ? 0 : v >= 3 ? 1 : v / 3 + 0.5;
    case UnaryKind::kLeakyRelu: return v > 0 ? 1 : a.alpha;
    case UnaryKind::kLog: return 1 / v;
    case UnaryKind::kMish: {
      const double t = std::tanh(softplus_of(v));
      return t + v * (1 - t * t) * sigmoid_of(v);
    }
    case UnaryKind::kSelu: return a.beta * (v > 0 ? 1 : a.alpha * std::exp(v));
    case UnaryKind::kSilu: return sigmoid_of(v) * (1 + v * (1 - sigmoid_of(v)));
    case UnaryKind::kSoftsign: return 1 / ((1 + std::abs(v)) * (1 + std::abs(v)));
    default: break;
  }
  LT_CHECK(false, "a kind whose derivative is no function of its input");
}

// A bound as a whole number; one beyond the type is no bound.
template <class T>
T whole_bound(double bound) {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  if (!(bound > static_cast<double>(kLow))) return kLow;
  return bound >= static_cast<double>(kHigh) ? kHigh : static_cast<T>(bound);
}

template <class T>
T whole_value(const Unary& a, T x) {
  const auto negated = [&] { return static_cast<T>(0 - static_cast<std::uint64_t>(x)); };
  switch (a.kind) {
    case UnaryKind::kAbs: return x < 0 ? negated() : x;
    case UnaryKind::kClip:
      return std::min(std::max(x, whole_bound<T>(a.alpha)), whole_bound<T>(a.beta));
    case UnaryKind::kNeg: return negated();
    case UnaryKind::kRelu: return std::max(x, T{0});
    case UnaryKind::kSign: return x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : T{0};
    default: break;
  }
  LT_CHECK(false, "a kind that takes no integers");
}

bool all_float32(const Signature& types) {
  return std::all_of(types.in.begin(), types.in.end(), [](const graph::TensorType& type) {
    return type.dtype == core::DType::kFloat32;
  });
}

}  // namespace

bool derivative_from_output(const Unary& a) {
  switch (a.kind) {
    case UnaryKind::kCelu: return a.alpha > 0;
    case UnaryKind::kElu:
    case UnaryKind::kLeakyRelu: return a.alpha >= 0;
    case UnaryKind::kSelu: return a.alpha >= 0 && a.beta > 0;
    case UnaryKind::kClip:
    case UnaryKind::kExp:
    case UnaryKind::kHardSigmoid:
    case UnaryKind::kReciprocal:
    case UnaryKind::kRelu:
    case UnaryKind::kSigmoid:
    case UnaryKind::kSoftplus:
    case UnaryKind::kSqrt:
    case UnaryKind::kTan:
    case UnaryKind::kTanh: return true;
    default: return false;
  }
}

double unary_value(const Unary& a, double x) { return value(a, x); }

double unary_derivative(const Unary& a, double x) {
  return derivative_from_output(a) ? derivative_at_output(a, value(a, x))
                                   : derivative_at_input(a, x);
}

bool simd_takes_unary(const Unary&, const Signature& types) { return all_float32(types); }

void run_simd_unary(const Unary& a, const Signature& types, const Run& run) {
  kernels::unary(a.kind, parameters(a), run.input<float>(0), run.output<float>(0),
                 types.in[0].shape.elements());
}

// Negative slopes and scales, which no exporter writes, are left to the reference.
bool simd_takes_unary_gradient(const Unary& a, const Signature& types) {
  const bool odd = (a.kind == UnaryKind::kCelu || a.kind == UnaryKind::kElu ||
                    a.kind == UnaryKind::kLeakyRelu || a.kind == UnaryKind::kSelu) &&
                   !derivative_from_output(a);
  return all_float32(types) && !odd;
}

void run_simd_unary_gradient(const Unary& a, const Signature& types, const Run& run) {
  kernels::unary_gradient(a.kind, parameters(a), run.input<float>(0), run.input<float>(1),
                          run.output<float>(0), types.in[0].shape.elements());
}

void run_reference_unary(const Unary& a, const Signature& types, const Run& run) {
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    T* const y = run.output<T>(0);
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        y[i] = static_cast<T>(value(a, static_cast<double>(x[i])));
      } else if constexpr (!std::is_same_v<T, bool>) {
        y[i] = whole_value(a, x[i]);
      }
    }
  });
}

// A derivative of exactly 0 cuts off even an infinite dy.
void run_reference_unary_gradient(const Unary& a, const Signature& types, const Run& run) {
  const auto derivative = derivative_from_output(a) ? derivative_at_output : derivative_at_input;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const v = run.input<T>(0);
    const T* const dy = run.input<T>(1);
    T* const dx = run.output<T>(0);
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const double slope = derivative(a, static_cast<double>(v[i]));
      dx[i] = slope == 0 ? T{0} : static_cast<T>(slope * static_cast<double>(dy[i]));
    }
  });
}

bool simd_takes_mask(const RangeMask&, const Signature& types) { return all_float32(types); }

void run_simd_mask(const RangeMask& a, const Signature& types, const Run& run) {
  kernels::range_mask(run.input<float>(0), static_cast<float>(a.low), static_cast<float>(a.high),
                      run.output<std::uint8_t>(0), types.in[0].shape.elements());
}

void run_reference_mask(const RangeMask& a, const Signature& types, const Run& run) {
  auto* const mask = run.output<std::uint8_t>(0);
  std::fill_n(mask, types.out[0].shape.elements(), std::uint8_t{0});
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const y = run.input<T>(0);
    const auto low = static_cast<T>(a.low);
    const auto high = static_cast<T>(a.high);
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const unsigned bit = y[i] <= low || y[i] >= high ? 0U : 1U << static_cast<unsigned>(i % 8);
      mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | bit);
    }
  });
}

bool simd_takes_mask_gradient(const MaskGradient&, const Signature& types) {
  return types.in[1].dtype == core::DType::kFloat32;
}

void run_simd_mask_gradient(const MaskGradient&, const Signature& types, const Run& run) {
  kernels::mask_gradient(run.input<std::uint8_t>(0), run.input<float>(1), run.output<float>(0),
                         types.in[1].shape.elements());
}

void run_reference_mask_gradient(const MaskGradient&, const Signature& types, const Run& run) {
  core::visit_float(types.in[1].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const mask = run.input<std::uint8_t>(0);
    const T* const dy = run.input<T>(1);
    T* const dx = run.output<T>(0);
    for (std::int64_t i = 0; i < types.in[1].shape.elements(); ++i) {
      dx[i] = ((mask[i / 8] >> (i % 8)) & 1) != 0 ? dy[i] : T{0};
    }
  });
}

}  // namespace lowtide::ops
