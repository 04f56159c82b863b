#include "ops/binary/binary_gradients.h"

#include <array>
#include <limits>

#include "ops/layout/layout.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

namespace {

// A gradient as large as the result, summed over what was broadcast of input i.
ValueId for_input(GradientContext& g, std::size_t i, ValueId gradient) {
  const TensorType type = g.type(g.in(i));
  const ValueId sum = sum_to(g.builder(), gradient, type.shape);
  return to_layout(g.builder(), sum, type.layout);
}

InputGradients gradient_of_add(const Binary&, GradientContext& g) {
  InputGradients result(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (g.needs(i)) result[i] = for_input(g, i, g.out_gradient(0));
  }
  return result;
}

InputGradients gradient_of_sub(const Binary&, GradientContext& g) {
  InputGradients result(2);
  if (g.needs(0)) result[0] = for_input(g, 0, g.out_gradient(0));
  if (g.needs(1)) result[1] = neg(g.builder(), for_input(g, 1, g.out_gradient(0)));
  return result;
}

InputGradients gradient_of_mul(const Binary&, GradientContext& g) {
  InputGradients result(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (g.needs(i)) {
      result[i] = for_input(g, i, mul(g.builder(), g.out_gradient(0), g.in(1 - i)));
    }
  }
  return result;
}

// y = a / c: da = dy / c and dc = -dy y / c. Where y is not kept but a is, dc comes from a / c.
InputGradients gradient_of_div(const Binary&, GradientContext& g) {
  GraphBuilder& b = g.builder();
  InputGradients result(2);
  const ValueId da = div(b, g.out_gradient(0), g.in(1));
  if (g.needs(0)) result[0] = for_input(g, 0, da);
  if (g.needs(1)) {
    const bool from_input = !g.kept_for_backward(g.out(0)) && g.kept_for_backward(g.in(0));
    const ValueId y = from_input ? div(b, g.in(0), g.in(1)) : g.out(0);
    result[1] = neg(b, for_input(g, 1, mul(b, da, y)));
  }
  return result;
}

InputGradients gradient_of_pow(const Binary&, GradientContext& g) {
  constexpr std::array kFactors = {BinaryKind::kPowBase, BinaryKind::kPowExponent};
  GraphBuilder& b = g.builder();
  InputGradients result(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!g.needs(i)) continue;
    const ValueId factor = binary(b, kFactors[i], g.in(0), g.in(1));
    result[i] = for_input(g, i, mul(b, g.out_gradient(0), factor));
  }
  return result;
}

InputGradients gradient_of_extreme(const Binary& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  InputGradients result(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!g.needs(i)) continue;
    const std::size_t greater = a.kind == BinaryKind::kMax ? i : 1 - i;
    const ValueId share = binary(b, BinaryKind::kShare, g.in(greater), g.in(1 - greater));
    result[i] = for_input(g, i, mul(b, g.out_gradient(0), share));
  }
  return result;
}

InputGradients gradient_of_prelu(const Binary&, GradientContext& g) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  GraphBuilder& b = g.builder();
  const ValueId dy = g.out_gradient(0);
  InputGradients result(2);
  if (g.needs(0)) {
    const ValueId slope = binary(b, BinaryKind::kPReluSlope, g.in(0), g.in(1));
    result[0] = for_input(g, 0, mul(b, dy, slope));
  }
  if (g.needs(1)) result[1] = for_input(g, 1, mul(b, dy, clip(b, g.in(0), -kInfinity, 0)));
  return result;
}

}  // namespace

GradientFn<Binary> binary_gradient(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd: return gradient_of_add;
    case BinaryKind::kSub: return gradient_of_sub;
    case BinaryKind::kMul: return gradient_of_mul;
    case BinaryKind::kDiv: return gradient_of_div;
    case BinaryKind::kPow: return gradient_of_pow;
    case BinaryKind::kMin:
    case BinaryKind::kMax: return gradient_of_extreme;
    case BinaryKind::kPRelu: return gradient_of_prelu;
    default: return not_differentiable;
  }
}

}  // namespace lowtide::ops
