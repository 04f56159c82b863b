#include "ops/recurrence/linear_attention.h"

#include <cmath>
#include <string>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/expand/expand.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

// The inputs are packed, (batch, tokens, heads * depth).
struct Sizes {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t query_heads = 0;
  std::int64_t heads = 0;  // of keys and values; each serves a group of query heads
  std::int64_t key_depth = 0;
  std::int64_t value_depth = 0;
};

Sizes read_sizes(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Shape query = b.type(node.required_input(0)).shape;
  const Shape value = b.type(node.required_input(2)).shape;
  Sizes s{.query_heads = node.integer("q_num_heads", 0), .heads = node.integer("kv_num_heads", 0)};
  constexpr std::int64_t kMostTokens = 4096;
  if (s.query_heads < 1 || s.heads < 1 || s.query_heads % s.heads != 0 || query.rank() != 3 ||
      value.rank() != 3 || query[2] % s.query_heads != 0 || value[2] % s.heads != 0) {
    throw fail(ErrorCode::kInvalidFile, "{} and {} heads of {} and {}", s.query_heads, s.heads,
               query.str(), value.str());
  }
  if (query[1] < 1 || query[1] > kMostTokens) {
    throw fail(ErrorCode::kUnsupported, "{} tokens", query[1]);
  }
  s.batch = query[0];
  s.tokens = query[1];
  s.key_depth = query[2] / s.query_heads;
  s.value_depth = value[2] / s.heads;
  return s;
}

// One token of a packed input as a matrix a head: (batch, heads, group, rows, columns).
class Tokens {
 public:
  Tokens(OnnxNode& node, std::size_t input, std::int64_t heads, std::int64_t groups)
      : b_(node.builder()), x_(node.input(input)), heads_(heads), groups_(groups) {
    if (!x_.valid()) return;
    const Shape& shape = b_.type(x_).shape;
    // One number for all heads is written once.
    if (shape[2] < heads_) heads_ = 1;
    depth_ = shape[2] / (heads_ * groups_);
  }

  [[nodiscard]] bool given() const { return x_.valid(); }
  [[nodiscard]] ValueId column(std::int64_t token) const { return at(token, depth_, 1); }
  [[nodiscard]] ValueId row(std::int64_t token) const { return at(token, 1, depth_); }

 private:
  [[nodiscard]] ValueId at(std::int64_t token, std::int64_t rows, std::int64_t columns) const {
    const ValueId one = slice(b_, x_, {.starts = {token}, .ends = {token + 1}, .axes = {1}});
    return reshape(b_, one, Shape{b_.type(x_).shape[0], heads_, groups_, rows, columns});
  }

  GraphBuilder& b_;
  ValueId x_;
  std::int64_t heads_;
  std::int64_t groups_;
  std::int64_t depth_ = 1;
};

struct Rule {
  bool gated = false;  // the state fades by exp(decay) before each token
  bool delta = false;  // what the state holds for a key already is taken away from its value
};

Rule read_rule(const OnnxNode& node) {
  const std::string name = node.string("update_rule", "gated_delta");
  if (name == "linear") return {};
  if (name == "gated") return {.gated = true};
  if (name == "delta") return {.delta = true};
  if (name == "gated_delta") return {.gated = true, .delta = true};
  throw fail(ErrorCode::kUnsupported, "update_rule '{}'", name);
}

}  // namespace

std::vector<ValueId> read_linear_attention(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Sizes s = read_sizes(node);
  const Rule rule = read_rule(node);
  const std::int64_t groups = s.query_heads / s.heads;
  const Tokens query(node, 0, s.heads, groups);
  const Tokens key(node, 1, s.heads, 1);
  const Tokens value(node, 2, s.heads, 1);
  const Tokens decay(node, 4, s.heads, 1);
  const Tokens rate(node, 5, s.heads, 1);
  if ((rule.gated && !decay.given()) || (rule.delta && !rate.given())) {
    throw fail(ErrorCode::kInvalidFile, "a decay or a rate is missing");
  }
  const Shape state_shape{s.batch, s.heads, 1, s.key_depth, s.value_depth};
  const core::DType dtype = b.type(node.required_input(0)).dtype;
  ValueId state = node.input(3).valid() ? reshape(b, node.input(3), state_shape)
                                        : zeros(b, {dtype, state_shape, core::Layout::kPlain});
  const double given = double{node.real("scale", 0.0F)};
  const double factor = given != 0 ? given : 1 / std::sqrt(static_cast<double>(s.key_depth));
  std::vector<ValueId> outputs;
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    if (rule.gated) state = mul(b, state, exp(b, decay.column(t)));
    ValueId written = value.row(t);
    if (rule.delta) {
      const ValueId held = matmul(b, key.row(t), state);
      written = mul(b, rate.row(t), sub(b, written, held));
    }
    state = add(b, state, matmul(b, key.column(t), written));
    const ValueId read = matmul(b, query.row(t), state);
    outputs.push_back(
        reshape(b, scale(b, read, factor), Shape{s.batch, 1, s.query_heads * s.value_depth}));
  }
  return {concat(b, std::move(outputs), 1),
          reshape(b, state, Shape{s.batch, s.heads, s.key_depth, s.value_depth})};
}

}  // namespace lowtide::ops
