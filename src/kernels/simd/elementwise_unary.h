// Functions of one float, applied to arrays, and what they do to gradients.
#pragma once

#include <cstdint>

namespace lowtide::kernels {

enum class UnaryFunction : std::uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,  // x > 0 ? x : alpha (exp(x / alpha) - 1)
  kClip,  // alpha (lower) and beta (upper bound; it wins where they cross)
  kCos,
  kCosh,
  kElu,  // x > 0 ? x : alpha (exp(x) - 1)
  kErf,
  kExp,
  kFloor,
  kGelu,         // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,     // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  kHardSigmoid,  // alpha x + beta, clipped to [0, 1]
  kHardSwish,    // x times (x / 6 + 1/2 clipped to [0, 1])
  kLeakyRelu,    // x > 0 ? x : alpha x
  kLog,
  kMish,  // x tanh(softplus(x))
  kNeg,
  kReciprocal,
  kRelu,
  kRound,  // halves to even
  kScale,  // alpha x
  kSelu,   // beta (x > 0 ? x : alpha (exp(x) - 1))
  kSigmoid,
  kSign,
  kSilu,  // x sigmoid(x)
  kSin,
  kSinh,
  kSoftplus,  // log(1 + exp(x))
  kSoftsign,  // x / (1 + |x|)
  kSqrt,      // its derivative at 0 is infinite, but counts as 0 where alpha is 1
  kTan,
  kTanh,
};

struct UnaryParameters {
  float alpha = 0;
  float beta = 0;
};

// y = f(x) for n floats; NaN gives NaN. y may be x.
void unary(UnaryFunction f, UnaryParameters p, const float* x, float* y, std::int64_t n);

// dx = f' dy, where f' is computed from v = x, or from v = f(x) for kCelu, kClip, kElu, kExp,
// kHardSigmoid, kLeakyRelu, kReciprocal, kRelu, kSelu, kSigmoid, kSoftplus, kSqrt, kTan and kTanh
// (with alpha >= 0 where it is a slope or a scale, and beta > 0 for kSelu). dx may be v or dy.
// Only for functions whose derivative is neither constant nor another one of them: not for kCeil,
// kCos, kCosh, kFloor, kNeg, kRound, kScale, kSign, kSin, kSinh.
void unary_gradient(
    UnaryFunction f, UnaryParameters p, const float* v, const float* dy, float* dx, std::int64_t n);

// What the derivative of Relu and Clip needs, in one bit an element: bit i % 8 of mask[i / 8] is
// 0 where y[i] <= low or y[i] >= high, else 1. Fills ceil(n / 8) bytes, unused bits with 0.
void range_mask(const float* y, float low, float high, std::uint8_t* mask, std::int64_t n);

// dx = dy where the bit is 1, else 0. dx may be dy.
void mask_gradient(const std::uint8_t* mask, const float* dy, float* dx, std::int64_t n);

}  // namespace lowtide::kernels
