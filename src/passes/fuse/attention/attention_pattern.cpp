#include "passes/fuse/attention/attention_pattern.h"

#include <algorithm>
#include <cmath>

#include "graph/builder.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/predicate/predicate.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"
#include "passes/dependence.h"
#include "passes/fuse/numbers.h"

namespace lowtide::passes {
namespace {

using core::Shape;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What hides a score for good: beside any other score of its row its exponential is zero.
constexpr double kHidden = -1e30;

// How far to the right of the diagonal the first query sees where each one sees one key more than
// the one before, in every matrix of a constant mask; `seen` is asked of each element.
template <class Seen>
std::optional<std::int64_t> diagonal_of(const Shape& shape, const Seen& seen) {
  if (shape.rank() < 2 || shape.elements() == 0) return std::nullopt;
  const std::int64_t columns = shape[shape.rank() - 1];
  const std::int64_t rows = shape[shape.rank() - 2];
  std::int64_t offset = -1;
  while (offset + 1 < columns && seen(offset + 1)) ++offset;
  if (offset < 0) return std::nullopt;
  for (std::int64_t first = 0; first < shape.elements(); first += rows * columns) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        if (seen(first + row * columns + column) != (column <= row + offset)) return std::nullopt;
      }
    }
  }
  return offset;
}

class Finder {
 public:
  Finder(const Graph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

  std::optional<AttentionPattern> find(const Node& product) {
    if (!plain_product(product)) return std::nullopt;
    pattern_.v = product.inputs[1];
    const auto softmaxed = weights(product.inputs[0]);
    if (!softmaxed || !scores(*softmaxed)) return std::nullopt;
    absorb_factors(pattern_.q);
    absorb_factors(pattern_.k);
    const bool learned = pattern_.mask.valid() && depends_on_state(graph_, pattern_.mask);
    return learned ? std::nullopt : std::optional(pattern_);
  }

 private:
  // A product of heads: equal axes but the last two.
  [[nodiscard]] bool plain_product(const Node& node) const {
    if (node.op != &ops::matmul_op()) return false;
    const auto& a = node.attrs.as<ops::MatMul>();
    const Shape& left = graph_.type(node.inputs[0]).shape;
    const Shape& right = graph_.type(node.inputs[1]).shape;
    if (a.transpose_a || a.bias || left.rank() != right.rank()) return false;
    if (left.rank() != 3 && left.rank() != 4) return false;
    return std::equal(left.dims().begin(), left.dims().end() - 2, right.dims().begin());
  }

  [[nodiscard]] bool only_reader(ValueId id, std::size_t count = 1) const {
    return read_only_by(graph_, readers_, id, count);
  }

  // Through a dropout, and through what replaces the NaN of a row that sees nothing by zero, to the
  // scores that the softmax reads.
  std::optional<ValueId> weights(ValueId id) {
    if (!only_reader(id)) return std::nullopt;
    if (made_by(graph_, id, ops::dropout_op())) {
      const Node& node = *producer(graph_, id);
      if (graph_.type(id).shape.rank() != 4) return std::nullopt;
      pattern_.dropout = node.attrs.as<ops::Dropout>();
      id = node.inputs[0];
      if (!only_reader(id)) return std::nullopt;
    }
    if (made_by(graph_, id, ops::where_op())) {
      const Node& node = *producer(graph_, id);
      const ValueId softmaxed = node.inputs[2];
      const bool guard =
          made_by(graph_, node.inputs[0], ops::predicate_op(ops::PredicateKind::kIsNaN)) &&
          producer(graph_, node.inputs[0])->inputs[0] == softmaxed &&
          constant_number(graph_, node.inputs[1]) == 0.0 && only_reader(node.inputs[0]) &&
          only_reader(softmaxed, 2);
      if (!guard) return std::nullopt;
      id = softmaxed;
    }
    if (!made_by(graph_, id, ops::softmax_op())) return std::nullopt;
    const Node& node = *producer(graph_, id);
    const auto& a = node.attrs.as<ops::Softmax>();
    const bool rows = !a.log && a.axis + 1 == graph_.type(id).shape.rank();
    return rows && only_reader(node.inputs[0]) ? std::optional(node.inputs[0]) : std::nullopt;
  }

  // From masked scores back to the product of queries and keys. What was scaled after a mask was
  // added to it is no pattern.
  bool scores(ValueId id) {
    if (!only_reader(id)) return false;
    const Node* const node = producer(graph_, id);
    if (node == nullptr) return false;
    if (node->op == &ops::matmul_op()) return product(*node);
    if (const auto inner = scaled(graph_, id)) {
      pattern_.scale *= inner->factor;
      scaled_ = true;
      return scores(inner->x);
    }
    if (scaled_) return false;
    if (node->op == &ops::where_op()) return chosen(*node);
    if (node->op != &ops::binary_op(ops::BinaryKind::kAdd)) return false;
    const AttentionPattern before = pattern_;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (take_added(node->inputs[1 - side], graph_.type(id).shape) && scores(node->inputs[side])) {
        return true;
      }
      pattern_ = before;
      scaled_ = false;
    }
    return false;
  }

  bool product(const Node& node) {
    if (!plain_product(node)) return false;
    pattern_.q = node.inputs[0];
    pattern_.k = node.inputs[1];
    pattern_.keys_swapped = !node.attrs.as<ops::MatMul>().transpose_b;
    return true;
  }

  [[nodiscard]] bool broadcasts(ValueId mask, const Shape& shape) const {
    const Shape& own = graph_.type(mask).shape;
    if (own.rank() > shape.rank()) return false;
    for (std::size_t i = 1; i <= own.rank(); ++i) {
      const std::int64_t dim = own[own.rank() - i];
      if (dim != 1 && dim != shape[shape.rank() - i]) return false;
    }
    // Without heads the batch is the first axis of three, which a mask of heads would not be.
    return shape.rank() == 4 || own.rank() < 3;
  }

  bool take_causal(std::int64_t offset) {
    if (pattern_.causal) return false;
    pattern_.causal = true;
    pattern_.causal_offset = offset;
    return true;
  }

  bool take_added(ValueId mask, const Shape& shape) {
    if (!broadcasts(mask, shape) || graph_.type(mask).layout != core::Layout::kPlain) return false;
    const Shape& own = graph_.type(mask).shape;
    const auto tensor =
        spans(own, shape) && !pattern_.causal ? constant_tensor(graph_, mask) : std::nullopt;
    const auto offset = tensor ? added_diagonal(*tensor) : std::nullopt;
    if (offset) return take_causal(*offset);
    if (pattern_.mask.valid()) return false;
    pattern_.mask = mask;
    return true;
  }

  static std::optional<std::int64_t> added_diagonal(const graph::ConstantTensor& mask) {
    return core::visit_float(mask.type.dtype, [&](auto tag) -> std::optional<std::int64_t> {
      const auto* const first = mask.data<typename decltype(tag)::type>();
      const bool hides = std::all_of(first, first + mask.type.shape.elements(),
                                     [](auto x) { return x == 0 || double{x} <= kHidden; });
      if (!hides) return std::nullopt;
      return diagonal_of(mask.type.shape, [&](std::int64_t at) { return first[at] == 0; });
    });
  }

  // Whether a mask has all rows and columns of the scores.
  static bool spans(const Shape& mask, const Shape& scores) {
    return mask.rank() >= 2 && mask[mask.rank() - 1] == scores[scores.rank() - 1] &&
           mask[mask.rank() - 2] == scores[scores.rank() - 2];
  }

  // where(condition, scores, fill) or where(condition, fill, scores).
  bool chosen(const Node& node) {
    const ValueId condition = node.inputs[0];
    const Shape& shape = graph_.type(node.outputs[0]).shape;
    for (const bool hides : {false, true}) {
      const auto fill = constant_number(graph_, node.inputs[hides ? 1 : 2]);
      const ValueId inner = node.inputs[hides ? 2 : 1];
      if (!fill || graph_.type(inner).shape != shape || !broadcasts(condition, shape)) continue;
      const AttentionPattern before = pattern_;
      if (take_choice(condition, hides, *fill, shape) && scores(inner)) return true;
      pattern_ = before;
      scaled_ = false;
    }
    return false;
  }

  bool take_choice(ValueId condition, bool hides, double fill, const Shape& shape) {
    const bool may_be_causal = fill <= kHidden && spans(graph_.type(condition).shape, shape);
    if (const auto tensor =
            may_be_causal && !pattern_.causal ? constant_tensor(graph_, condition) : std::nullopt) {
      const auto* const first = tensor->data<bool>();
      const auto seen = [&](std::int64_t at) { return first[at] != hides; };
      if (const auto offset = diagonal_of(tensor->type.shape, seen)) return take_causal(*offset);
    }
    if (pattern_.mask.valid()) return false;
    pattern_.mask = condition;
    pattern_.mask_hides = hides;
    pattern_.fill = fill;
    return true;
  }

  // Half of the scale may be on each side.
  void absorb_factors(ValueId& operand) {
    while (const auto inner = scaled(graph_, operand)) {
      if (!only_reader(operand)) return;
      pattern_.scale *= inner->factor;
      operand = inner->x;
    }
  }

  const Graph& graph_;
  const Readers& readers_;
  AttentionPattern pattern_;
  bool scaled_ = false;
};

}  // namespace

std::optional<AttentionPattern> find_attention(const Graph& graph,
                                               const Readers& readers,
                                               NodeId product) {
  return Finder(graph, readers).find(graph.node(product));
}

}  // namespace lowtide::passes
