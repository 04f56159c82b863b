// Elementwise ops on two tensors with numpy's broadcasting: arithmetic, comparisons and logic.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

enum class BinaryKind : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,    // integers: towards zero; by zero gives 0
  kPow,    // whole powers of integers wrap around
  kMod,    // the sign of the divisor, as in Python; by zero gives 0 for integers
  kFmod,   // the sign of the dividend, as in C
  kMin,    // NaN where either is NaN
  kMax,    // likewise
  kPRelu,  // a > 0 ? a : c a
  // Integers only. What is shifted by its width or more is 0.
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // These give bool. The comparisons take numbers (kEqual bool too), the last three bool.
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kXor,
  // For gradients: numbers the derivative is a product with. No ONNX form.
  kPReluSlope,   // of a in kPRelu: 1 where a > 0, else c
  kShare,        // of a in max(a, c): 0 where a < c, 1/2 where a == c, else 1
  kSame,         // 1 where a == c, else 0
  kPowBase,      // c a^(c-1); 0 where c is 0
  kPowExponent,  // a^c log a; 0 where a is 0 and c >= 0
};
inline constexpr std::size_t kBinaryKinds = 28;

struct Binary {
  BinaryKind kind = BinaryKind::kAdd;

  bool operator==(const Binary&) const = default;
};

// One op for each kind. Both inputs have the same dtype. Where an input of the result's rank is
// channels-last, so is the result; the functions below bring the other input into that form.
const graph::OpDef& binary_op(BinaryKind kind);

graph::ValueId binary(graph::GraphBuilder& b, BinaryKind kind, graph::ValueId a, graph::ValueId c);

graph::ValueId add(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
graph::ValueId sub(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
graph::ValueId mul(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
graph::ValueId div(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
graph::ValueId pow(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
// Where both are equal, each gets half of the gradient.
graph::ValueId minimum(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);
graph::ValueId maximum(graph::GraphBuilder& b, graph::ValueId a, graph::ValueId c);

}  // namespace lowtide::ops
