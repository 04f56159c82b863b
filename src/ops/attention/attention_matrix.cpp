#include "ops/attention/attention_matrix.h"

#include <limits>

#include "core/text.h"
#include "ops/attention/attention_kernels.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

namespace {

// The heads that share keys, below one another: (N, H, T, X) to (N, K, H / K T, X).
ValueId grouped(GraphBuilder& b, ValueId x, std::int64_t kv_heads) {
  const Shape shape = b.type(x).shape;
  const std::int64_t each = kv_heads == 0 ? 0 : shape[1] / kv_heads;
  return reshape(b, x, Shape{shape[0], kv_heads, each * shape[2], shape[3]});
}

template <class T>
ValueId causal_mask_of(GraphBuilder& b,
                       std::int64_t rows,
                       std::int64_t columns,
                       std::int64_t offset) {
  std::vector<T> elements;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      elements.push_back(j <= offset + i ? T{0} : -std::numeric_limits<T>::infinity());
    }
  }
  return b.constant(Shape{rows, columns}, elements);
}

}  // namespace

ValueId attention_scores(GraphBuilder& b, ValueId q, ValueId k, double factor) {
  const Shape from = b.type(q).shape;
  const Shape to = b.type(k).shape;
  const ValueId scores = matmul(b, grouped(b, q, to[1]), k, {.transpose_b = true});
  return scale(b, reshape(b, scores, Shape{from[0], from[1], from[2], to[2]}), factor);
}

ValueId attention_sums(GraphBuilder& b, ValueId weights, ValueId v) {
  const Shape from = b.type(weights).shape;
  const Shape to = b.type(v).shape;
  return reshape(b, matmul(b, grouped(b, weights, to[1]), v),
                 Shape{from[0], from[1], from[2], to[3]});
}

ValueId causal_mask(GraphBuilder& b,
                    core::DType dtype,
                    std::int64_t rows,
                    std::int64_t columns,
                    std::int64_t offset) {
  return dtype == core::DType::kFloat64 ? causal_mask_of<double>(b, rows, columns, offset)
                                        : causal_mask_of<float>(b, rows, columns, offset);
}

ValueId mask_gradient(const Attention& a, graph::GradientContext& g, ValueId dy) {
  const kernels::AttentionSizes& s = a.sizes;
  const bool plain = head_tensors(a) == 3 && a.q.at == plain_heads(s.heads, s.rows, s.depth) &&
                     a.k.at == plain_heads(s.kv_heads, s.columns, s.depth) &&
                     a.v.at == plain_heads(s.kv_heads, s.columns, s.value_depth) &&
                     a.y_at == plain_heads(s.heads, s.rows, s.value_depth);
  if (!plain) {
    throw core::fail(ErrorCode::kUnsupported,
                     "no gradient passes to a mask of attention on parts of tensors");
  }
  GraphBuilder& b = g.builder();
  const ValueId mask = g.in(head_tensors(a));
  const core::TensorType type = b.type(mask);
  ValueId scores = add(b, attention_scores(b, g.in(0), g.in(1), a.scale), mask);
  if (a.causal) {
    scores = add(b, scores, causal_mask(b, type.dtype, s.rows, s.columns, a.causal_offset));
  }
  const ValueId weights = softmax(b, scores, -1);
  ValueId of_weights = attention_scores(b, dy, g.in(2), 1);
  if (a.dropout.active) of_weights = dropout(b, of_weights, a.dropout);
  const ValueId of_scores =
      b.add_one(softmax_gradient_op(), graph::Attrs::of(Softmax{.axis = 3}), {weights, of_weights});
  return sum_to(b, of_scores, type.shape);
}

}  // namespace lowtide::ops
