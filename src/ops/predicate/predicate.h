// Elementwise truths about one tensor: Not, IsNaN, IsInf.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace lowtide::ops {

enum class PredicateKind : std::uint8_t { kNot, kIsNaN, kIsInf };

struct Predicate {
  PredicateKind kind = PredicateKind::kNot;
  bool negative = true;  // whether kIsInf counts -inf
  bool positive = true;  // and inf

  bool operator==(const Predicate&) const = default;
};

// kNot takes bool, the others floats; any layout. The result is bool.
const graph::OpDef& predicate_op(PredicateKind kind);

graph::ValueId logical_not(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId is_nan(graph::GraphBuilder& b, graph::ValueId x);
graph::ValueId is_inf(graph::GraphBuilder& b, graph::ValueId x);

}  // namespace lowtide::ops
