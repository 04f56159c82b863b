// Attention by its whole matrix of weights, from simpler ops: for what needs the matrix itself.
#pragma once

#include "graph/builder.h"
#include "ops/attention/attention.h"

namespace lowtide::ops {

// scale q k' for queries (N, H, T, D) and keys (N, K, S, D): (N, H, T, S).
graph::ValueId attention_scores(graph::GraphBuilder& b,
                                graph::ValueId q,
                                graph::ValueId k,
                                double scale);

// The sums of values (N, K, S, E) by weights (N, H, T, S): (N, H, T, E).
graph::ValueId attention_sums(graph::GraphBuilder& b, graph::ValueId weights, graph::ValueId v);

// 0 where query i of `rows` sees key j of `columns`, j <= offset + i, and -infinity elsewhere.
graph::ValueId causal_mask(graph::GraphBuilder& b,
                           core::DType dtype,
                           std::int64_t rows,
                           std::int64_t columns,
                           std::int64_t offset);

// The gradient of an added mask. Throws Error(kUnsupported) where the operands are not plain heads.
graph::ValueId mask_gradient(const Attention& a, graph::GradientContext& g, graph::ValueId dy);

}  // namespace lowtide::ops
