#include "ops/attention/attention.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/attention/attention_kernels.h"
#include "ops/attention/attention_matrix.h"
#include "ops/attention/attention_onnx.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Shape;
using kernels::AttentionSizes;
using kernels::HeadStrides;

// One past the last element that heads of these sizes reach.
std::int64_t reach(const HeadStrides& at,
                   std::int64_t batch,
                   std::int64_t heads,
                   std::int64_t rows,
                   std::int64_t depth) {
  if (batch * heads * rows * depth == 0) return 0;
  return at.at(batch - 1, heads - 1, rows - 1) + depth;
}

void check_heads(const Attention& a, Types in) {
  const AttentionSizes& s = a.sizes;
  const auto check = [&](const HeadInput& x, std::int64_t heads, std::int64_t rows,
                         std::int64_t depth) {
    const TensorType& type = in[x.input];
    const bool plain = core::is_float(type.dtype) && type.dtype == in[0].dtype &&
                       type.layout == core::Layout::kPlain;
    if (!plain || reach(x.at, s.batch, heads, rows, depth) > type.shape.elements()) {
      throw fail(ErrorCode::kInvalidArgument, "{} does not hold {} heads of {} x {} for {} samples",
                 type.str(), heads, rows, depth, s.batch);
    }
  };
  check(a.q, s.heads, s.rows, s.depth);
  check(a.k, s.kv_heads, s.columns, s.depth);
  check(a.v, s.kv_heads, s.columns, s.value_depth);
  if (s.heads > 0 && (s.kv_heads == 0 || s.heads % s.kv_heads != 0)) {
    throw fail(ErrorCode::kInvalidArgument, "{} heads of queries cannot share {} of keys", s.heads,
               s.kv_heads);
  }
}

void check_mask(const Attention& a, Types in) {
  if (a.mask == MaskKind::kNone) return;
  const TensorType& mask = in[head_tensors(a)];
  const core::DType wanted = a.mask == MaskKind::kAdded ? in[0].dtype : core::DType::kBool;
  const Shape scores{a.sizes.batch, a.sizes.heads, a.sizes.rows, a.sizes.columns};
  if (mask.dtype != wanted || mask.layout != core::Layout::kPlain ||
      core::broadcast(mask.shape, scores) != scores) {
    throw fail(ErrorCode::kInvalidArgument, "{} is no mask for scores {}", mask.str(),
               scores.str());
  }
}

std::vector<TensorType> infer(const Attention& a, Types in) {
  check_heads(a, in);
  check_mask(a, in);
  const TensorType statistics{in[0].dtype, {a.sizes.batch, a.sizes.heads, a.sizes.rows, 2}};
  return {{in[0].dtype, a.shape}, statistics};
}

std::vector<TensorType> infer_gradient(const AttentionGradient& g, Types in) {
  const auto heads = static_cast<std::ptrdiff_t>(head_tensors(g.forward));
  return {in.begin(), in.begin() + heads};
}

// y and its statistics bring the weights back tile by tile. The gradient of an added mask has the
// size of the weights, so it is computed from them.
InputGradients gradient(const Attention& a, GradientContext& g) {
  if (g.out_gradient(1).valid()) {
    throw fail(ErrorCode::kUnsupported, "no gradient passes through the statistics of attention");
  }
  InputGradients result(g.input_count());
  const std::size_t heads = head_tensors(a);
  const ValueId dy = to_plain(g.builder(), g.out_gradient(0));
  if (a.mask == MaskKind::kAdded && g.needs(heads)) result[heads] = mask_gradient(a, g, dy);
  bool any = false;
  for (std::size_t i = 0; i < heads; ++i) any = any || g.needs(i);
  if (!any) return result;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) inputs.push_back(g.in(i));
  inputs.insert(inputs.end(), {g.out(0), g.out(1), dy});
  const std::vector<ValueId> found = g.builder().add(
      attention_gradient_op(), Attrs::of(AttentionGradient{.forward = a}), std::move(inputs));
  std::copy(found.begin(), found.end(), result.begin());
  return result;
}

// Products of queries, keys and values, `products` of them, and an exponential for each weight.
Cost cost_of(const Attention& a, const Signature& types, double products) {
  const AttentionSizes& s = a.sizes;
  const auto weights = static_cast<double>(s.batch * s.heads * s.rows * s.columns);
  const double depth = static_cast<double>(s.depth + s.value_depth) / 2;
  Bytes traffic;
  for (const TensorType& type : types.in) traffic += type.bytes();
  for (const TensorType& type : types.out) traffic += type.bytes();
  return {.flops = (a.causal ? 0.5 : 1.0) * weights * (2 * products * depth + 14),
          .traffic = traffic};
}

Cost cost(const Attention& a, const Signature& types) { return cost_of(a, types, 2); }

Cost cost_of_gradient(const AttentionGradient& g, const Signature& types) {
  return cost_of(g.forward, types, 5);
}

}  // namespace

const OpDef& attention_op() {
  static const TypedOp<Attention> op{{
      .name = "Attention",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Attention", .read = read_attention}},
      .kernels = attention_kernels(),
  }};
  return op;
}

const OpDef& attention_gradient_op() {
  static const TypedOp<AttentionGradient> op{{
      .name = "AttentionGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .kernels = attention_gradient_kernels(),
  }};
  return op;
}

HeadStrides plain_heads(std::int64_t heads, std::int64_t rows, std::int64_t depth) {
  return {.batch = heads * rows * depth, .head = rows * depth, .row = depth};
}

ValueId attention(GraphBuilder& b,
                  const std::array<Heads, 3>& qkv,
                  ValueId mask,
                  Attention attributes) {
  std::vector<ValueId> inputs;
  const std::array<HeadInput*, 3> places = {&attributes.q, &attributes.k, &attributes.v};
  for (std::size_t i = 0; i < qkv.size(); ++i) {
    // Heads that lie on one another have gradients of their own.
    const bool apart = std::none_of(qkv.begin(), qkv.begin() + i, [&](const Heads& before) {
      return before.tensor == qkv[i].tensor && before.at.offset == qkv[i].at.offset;
    });
    const auto found =
        apart ? std::find(inputs.begin(), inputs.end(), qkv[i].tensor) : inputs.end();
    *places[i] = {.input = static_cast<std::size_t>(found - inputs.begin()), .at = qkv[i].at};
    if (found == inputs.end()) inputs.push_back(qkv[i].tensor);
  }
  if (mask.valid()) {
    if (b.type(mask).dtype != core::DType::kBool) {
      attributes.mask = MaskKind::kAdded;
    } else if (attributes.mask != MaskKind::kHidden) {
      attributes.mask = MaskKind::kKept;
    }
    inputs.push_back(to_plain(b, mask));
  }
  return b.add(attention_op(), Attrs::of(std::move(attributes)), std::move(inputs))[0];
}

ValueId attention(GraphBuilder& b,
                  ValueId q,
                  ValueId k,
                  ValueId v,
                  ValueId mask,
                  const AttentionOptions& options) {
  const auto heads = [&](ValueId x) {
    const Shape& shape = b.type(x).shape;
    if (shape.rank() != 4) {
      throw fail(ErrorCode::kInvalidArgument, "attention takes heads of rank 4, not {}",
                 b.type(x).str());
    }
    return Heads{.tensor = to_plain(b, x), .at = plain_heads(shape[1], shape[2], shape[3])};
  };
  const std::array<Heads, 3> qkv = {heads(q), heads(k), heads(v)};
  const Shape& from = b.type(q).shape;
  const Shape& to = b.type(v).shape;
  if (b.type(k).shape != Shape{from[0], to[1], to[2], from[3]}) {
    throw fail(ErrorCode::kInvalidArgument, "keys {} belong to no queries {} and values {}",
               b.type(k).str(), b.type(q).str(), b.type(v).str());
  }
  Attention a{.sizes = {.batch = from[0],
                        .heads = from[1],
                        .kv_heads = to[1],
                        .rows = from[2],
                        .columns = to[2],
                        .depth = from[3],
                        .value_depth = to[3]},
              .shape = {from[0], from[1], from[2], to[3]},
              .y_at = plain_heads(from[1], from[2], to[3]),
              .scale = options.scale,
              .causal = options.causal,
              .causal_offset = options.causal_offset,
              .fill = options.fill,
              .dropout = options.dropout};
  return attention(b, qkv, mask, std::move(a));
}

}  // namespace lowtide::ops
