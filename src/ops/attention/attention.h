// Attention: softmax(scale q k' + mask) v for many heads, without the matrix in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "graph/builder.h"
#include "kernels/simd/attention/attention.h"
#include "ops/dropout/dropout.h"

namespace lowtide::ops {

enum class MaskKind : std::uint8_t {
  kNone,
  kAdded,   // floats, added to the scores
  kKept,    // bools: where false, the score is `fill`
  kHidden,  // bools: where true, it is
};

// Which of the node's inputs holds a tensor of heads, and where in it.
struct HeadInput {
  std::size_t input = 0;
  kernels::HeadStrides at;

  bool operator==(const HeadInput&) const = default;
};

// The queries, keys and values may be parts of fewer tensors, in any order of the axes but the last
// one; the result is written as `shape` and `y_at` say. Causal: query i sees the keys up to
// causal_offset + i. A row that sees nothing gives zeros. The weights' dropout numbers samples
// along the batch, and elements as (head, query, key).
struct Attention {
  kernels::AttentionSizes sizes;
  HeadInput q;
  HeadInput k;
  HeadInput v;
  core::Shape shape;
  kernels::HeadStrides y_at;
  double scale = 1;
  bool causal = false;
  std::int64_t causal_offset = 0;
  MaskKind mask = MaskKind::kNone;
  double fill = -std::numeric_limits<double>::infinity();
  Dropout dropout{.ratio = 0};

  bool operator==(const Attention&) const = default;
};

// A tensor of heads as part of a plain one.
struct Heads {
  graph::ValueId tensor;
  kernels::HeadStrides at;
};

// What of the attributes is not where the operands lie.
struct AttentionOptions {
  double scale = 1;
  bool causal = false;
  std::int64_t causal_offset = 0;
  double fill = -std::numeric_limits<double>::infinity();
  Dropout dropout{.ratio = 0};
};

// Queries (N, H, T, D), keys (N, K, S, D), values (N, K, S, E), K a divisor of H; the mask, if
// valid, broadcasts to (N, H, T, S). The result is (N, H, T, E).
graph::ValueId attention(graph::GraphBuilder& b,
                         graph::ValueId q,
                         graph::ValueId k,
                         graph::ValueId v,
                         graph::ValueId mask,
                         const AttentionOptions& options);

// The same on parts of tensors. Parts that share a tensor must not overlap. The kind of a mask of
// bools is kKept unless the attributes say kHidden.
graph::ValueId attention(graph::GraphBuilder& b,
                         const std::array<Heads, 3>& qkv,
                         graph::ValueId mask,
                         Attention attributes);

// Strides of plain heads of such sizes.
kernels::HeadStrides plain_heads(std::int64_t heads, std::int64_t rows, std::int64_t depth);

const graph::OpDef& attention_op();
const graph::OpDef& attention_gradient_op();

}  // namespace lowtide::ops
