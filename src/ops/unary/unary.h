// Elementwise functions of one tensor: activations, roots, exponentials, rounding, scaling.
#pragma once

#include "graph/builder.h"
#include "kernels/simd/elementwise_unary.h"

namespace lowtide::ops {

using UnaryKind = kernels::UnaryFunction;  // says what alpha and beta are
inline constexpr std::size_t kUnaryKinds = 39;

struct Unary {
  UnaryKind kind = UnaryKind::kRelu;
  double alpha = 0;
  double beta = 0;

  bool operator==(const Unary&) const = default;
};

// Which elements of y lie strictly between low and high, one bit each; NaN for no bound.
struct RangeMask {
  double low = 0;
  double high = 0;

  bool operator==(const RangeMask&) const = default;
};

struct MaskGradient {
  bool operator==(const MaskGradient&) const = default;
};

// One op for each kind, in any layout. Floats; Abs, Clip, Neg, Relu and Sign take integers too.
const graph::OpDef& unary_op(UnaryKind kind);

// The derivative times dy, from (x or y, dy); only for kinds that have such a kernel.
const graph::OpDef& unary_gradient_op(UnaryKind kind);
bool has_unary_gradient(UnaryKind kind);

// y -> mask (bytes); (mask, dy) -> dx.
const graph::OpDef& range_mask_op();
const graph::OpDef& mask_gradient_op();

graph::ValueId unary(graph::GraphBuilder& b, Unary attributes, graph::ValueId x);

// Where the bounds cross, high wins. The gradient is 0 on the bounds, as of ReLU6. Emits nothing
// without bounds (infinite ones).
graph::ValueId clip(graph::GraphBuilder& b, graph::ValueId x, double low, double high);

// y = factor x; emits nothing for 1.
graph::ValueId scale(graph::GraphBuilder& b, graph::ValueId x, double factor);

graph::ValueId selu(graph::GraphBuilder& b, graph::ValueId x);

inline graph::ValueId celu(graph::GraphBuilder& b, graph::ValueId x, double alpha = 1.0) {
  return unary(b, {.kind = UnaryKind::kCelu, .alpha = alpha}, x);
}

inline graph::ValueId elu(graph::GraphBuilder& b, graph::ValueId x, double alpha = 1.0) {
  return unary(b, {.kind = UnaryKind::kElu, .alpha = alpha}, x);
}

inline graph::ValueId leaky_relu(graph::GraphBuilder& b, graph::ValueId x, double alpha = 0.01) {
  return unary(b, {.kind = UnaryKind::kLeakyRelu, .alpha = alpha}, x);
}

inline graph::ValueId hard_sigmoid(graph::GraphBuilder& b,
                                   graph::ValueId x,
                                   double alpha = 0.2,
                                   double beta = 0.5) {
  return unary(b, {.kind = UnaryKind::kHardSigmoid, .alpha = alpha, .beta = beta}, x);
}

inline graph::ValueId abs(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kAbs}, x);
}

inline graph::ValueId ceil(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kCeil}, x);
}

inline graph::ValueId cos(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kCos}, x);
}

inline graph::ValueId cosh(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kCosh}, x);
}

inline graph::ValueId erf(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kErf}, x);
}

inline graph::ValueId exp(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kExp}, x);
}

inline graph::ValueId floor(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kFloor}, x);
}

inline graph::ValueId gelu(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kGelu}, x);
}

inline graph::ValueId gelu_tanh(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kGeluTanh}, x);
}

inline graph::ValueId hard_swish(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kHardSwish}, x);
}

inline graph::ValueId log(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kLog}, x);
}

inline graph::ValueId mish(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kMish}, x);
}

inline graph::ValueId neg(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kNeg}, x);
}

inline graph::ValueId reciprocal(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kReciprocal}, x);
}

// The gradient at 0 is 0. It comes from y or x where one is kept anyway, else from a saved bit.
inline graph::ValueId relu(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kRelu}, x);
}

inline graph::ValueId round(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kRound}, x);
}

inline graph::ValueId sigmoid(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSigmoid}, x);
}

inline graph::ValueId sign(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSign}, x);
}

inline graph::ValueId silu(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSilu}, x);
}

inline graph::ValueId sin(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSin}, x);
}

inline graph::ValueId sinh(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSinh}, x);
}

inline graph::ValueId softplus(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSoftplus}, x);
}

inline graph::ValueId softsign(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSoftsign}, x);
}

inline graph::ValueId sqrt(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSqrt}, x);
}

// The square root of a sum of squares: a norm, whose gradient counts as 0 where it is 0.
inline graph::ValueId root_of_squares(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kSqrt, .alpha = 1}, x);
}

inline graph::ValueId tanh(graph::GraphBuilder& b, graph::ValueId x) {
  return unary(b, {.kind = UnaryKind::kTanh}, x);
}

}  // namespace lowtide::ops
