#include "ops/attention/attention_onnx.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>

#include "core/text.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_matrix.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

// What qk_matmul_output_mode asks to see.
enum class Seen : std::int64_t { kScores = 0, kCapped = 1, kMasked = 2, kWeights = 3 };

// (N, T, H D) to (N, H, T, D); heads stay as they are.
ValueId to_heads(GraphBuilder& b, ValueId x, std::int64_t heads) {
  const Shape shape = b.type(x).shape;
  if (shape.rank() == 4) return x;
  if (shape.rank() != 3 || heads <= 0 || shape[2] % heads != 0) {
    throw fail(ErrorCode::kInvalidFile, "cannot make {} heads of {}", heads, b.type(x).str());
  }
  const ValueId apart = reshape(b, x, Shape{shape[0], shape[1], heads, shape[2] / heads});
  return transpose(b, apart, {0, 2, 1, 3});
}

ValueId from_heads(GraphBuilder& b, ValueId y) {
  const Shape shape = b.type(y).shape;
  return reshape(b, transpose(b, y, {0, 2, 1, 3}), Shape{shape[0], shape[2], shape[1] * shape[3]});
}

// What hides scores of this type, or in a mask of it.
ValueId hidden(GraphBuilder& b, DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(shape.elements());
  if (dtype == DType::kBool) {
    return b.constant(
        {.type = {dtype, shape}, .bytes = std::make_shared<const std::vector<std::byte>>(count)});
  }
  if (dtype == DType::kFloat64) return b.constant(shape, std::vector<double>(count, -INFINITY));
  return b.constant(shape, std::vector<float>(count, -INFINITY));
}

// Keys that the mask says nothing of are hidden.
ValueId padded(GraphBuilder& b, ValueId mask, std::int64_t columns) {
  const Shape shape = b.type(mask).shape;
  if (shape.rank() == 0 || shape[shape.rank() - 1] >= columns) return mask;
  const std::size_t last = shape.rank() - 1;
  const Shape rest = shape.with(last, columns - shape[last]);
  return concat(b, {mask, hidden(b, b.type(mask).dtype, rest)}, -1);
}

// Hides the keys past each sample's own number of them.
ValueId within_lengths(GraphBuilder& b, ValueId mask, ValueId lengths, std::int64_t columns) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(columns));
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const ValueId at = b.constant(Shape{columns}, places);
  const ValueId limit = reshape(b, lengths, Shape{b.type(lengths).shape.elements(), 1, 1, 1});
  const ValueId inside = binary(b, BinaryKind::kLess, at, limit);
  if (!mask.valid()) return inside;
  const DType dtype = b.type(mask).dtype;
  if (dtype == DType::kBool) return binary(b, BinaryKind::kAnd, mask, inside);
  return where(b, inside, mask, hidden(b, dtype, Shape()));
}

struct Operands {
  ValueId q;
  ValueId k;
  ValueId v;
  ValueId mask;
  AttentionOptions options;
};

// Keys and values that earlier calls have left come before the new ones.
void prepend_past(OnnxNode& node, Operands& x) {
  const ValueId keys = node.input(4);
  const ValueId values = node.input(5);
  if (keys.valid() != values.valid()) {
    throw fail(ErrorCode::kInvalidFile, "past_key and past_value come together");
  }
  if (!keys.valid()) return;
  GraphBuilder& b = node.builder();
  if (b.type(keys).shape.rank() != 4) {
    throw fail(ErrorCode::kInvalidFile, "past_key is {}, not heads", b.type(keys).str());
  }
  x.options.causal_offset = b.type(keys).shape[2];
  x.k = concat(b, {keys, x.k}, 2);
  x.v = concat(b, {values, x.v}, 2);
}

Operands read_operands(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::int64_t heads = node.integer("q_num_heads", 0);
  const std::int64_t kv_heads = node.integer("kv_num_heads", 0);
  Operands x{.q = to_heads(b, node.required_input(0), heads),
             .k = to_heads(b, node.required_input(1), kv_heads),
             .v = to_heads(b, node.required_input(2), kv_heads),
             .mask = node.input(3)};
  const auto depth = static_cast<double>(b.type(x.q).shape[3]);
  x.options.scale =
      node.has("scale") ? double{node.real("scale", 1)} : 1 / std::sqrt(std::max(depth, 1.0));
  x.options.causal = node.integer("is_causal", 0) != 0;
  prepend_past(node, x);
  const std::int64_t columns = b.type(x.k).shape[2];
  if (x.mask.valid()) x.mask = padded(b, x.mask, columns);
  if (node.input(6).valid()) x.mask = within_lengths(b, x.mask, node.input(6), columns);
  return x;
}

ValueId masked(GraphBuilder& b, const Operands& x, ValueId scores) {
  const core::TensorType type = b.type(scores);
  if (x.mask.valid()) {
    scores = b.type(x.mask).dtype == DType::kBool
                 ? where(b, x.mask, scores, hidden(b, type.dtype, Shape()))
                 : add(b, scores, x.mask);
  }
  if (!x.options.causal) return scores;
  return add(b, scores,
             causal_mask(b, type.dtype, type.shape[2], type.shape[3], x.options.causal_offset));
}

// The result, and the matrix as `seen` at one stage.
std::pair<ValueId, ValueId> by_matrix(GraphBuilder& b,
                                      const Operands& x,
                                      double softcap,
                                      Seen seen) {
  const ValueId scores = attention_scores(b, x.q, x.k, x.options.scale);
  const ValueId capped =
      softcap > 0 ? scale(b, tanh(b, scale(b, scores, 1 / softcap)), softcap) : scores;
  const ValueId with_mask = masked(b, x, capped);
  const ValueId weights = softmax(b, with_mask, -1);
  const ValueId y = attention_sums(b, weights, x.v);
  switch (seen) {
    case Seen::kScores: return {y, scores};
    case Seen::kCapped: return {y, capped};
    case Seen::kMasked: return {y, with_mask};
    case Seen::kWeights: return {y, weights};
  }
  throw fail(ErrorCode::kInvalidFile, "qk_matmul_output_mode is {}",
             static_cast<std::int64_t>(seen));
}

}  // namespace

std::vector<ValueId> read_attention(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Operands x = read_operands(node);
  const auto softcap = double{node.real("softcap", 0)};
  ValueId y;
  ValueId seen;
  if (softcap > 0 || node.output_used(3)) {
    const auto mode = static_cast<Seen>(node.integer("qk_matmul_output_mode", 0));
    std::tie(y, seen) = by_matrix(b, x, softcap, mode);
  } else {
    y = attention(b, x.q, x.k, x.v, x.mask, x.options);
  }
  if (b.type(node.required_input(0)).shape.rank() == 3) y = from_heads(b, y);
  return {y, x.k, x.v, seen};
}

}  // namespace lowtide::ops
