#include "passes/fuse/batch_norm.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"
#include "passes/dependence.h"
#include "passes/fuse/numbers.h"
#include "passes/fuse/takeover.h"

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

// What an activation takes over: the output of the norm and, where there is one, of the sum.
struct Fusion {
  ValueId norm;
  ValueId sum;
  std::size_t residual = 0;  // which input of the sum is not the norm

  [[nodiscard]] std::array<ValueId, 2> gone() const { return {norm, sum}; }
};

bool can_follow(const Node& node) {
  constexpr std::array kKinds = {ops::UnaryKind::kClip, ops::UnaryKind::kHardSwish,
                                 ops::UnaryKind::kRelu, ops::UnaryKind::kSilu};
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](ops::UnaryKind kind) { return node.op == &ops::unary_op(kind); });
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(graph::readers(graph)) {}

  // What the node can take over, if anything.
  [[nodiscard]] std::optional<Fusion> find(const Node& node) const {
    if (!can_follow(node)) return std::nullopt;
    const ValueId x = node.inputs[0];
    if (is_lone(x, ops::batch_norm_apply_op())) return Fusion{.norm = x, .sum = {}};
    if (node.op != &ops::unary_op(ops::UnaryKind::kRelu)) return std::nullopt;
    return is_lone(x, ops::binary_op(ops::BinaryKind::kAdd)) ? find_in_sum(x) : std::nullopt;
  }

 private:
  // Whether that op computes the value, and only one node reads it.
  [[nodiscard]] bool is_lone(ValueId value, const graph::OpDef& op) const {
    return made_by(graph_, value, op) && read_only_by(graph_, readers_, value);
  }

  [[nodiscard]] std::optional<Fusion> find_in_sum(ValueId sum) const {
    const std::vector<ValueId>& terms = producer(graph_, sum)->inputs;
    if (terms[0] == terms[1] || graph_.type(terms[0]) != graph_.type(terms[1]) ||
        !ops::can_add_to_batch_norm(graph_.type(sum))) {
      return std::nullopt;
    }
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (is_lone(terms[side], ops::batch_norm_apply_op())) {
        return Fusion{.norm = terms[side], .sum = sum, .residual = 1 - side};
      }
    }
    return std::nullopt;
  }

  const Graph& graph_;
  Readers readers_;
};

ValueId fused(GraphBuilder& b, const Node& node, const Fusion& fusion, const TakenOver& taken) {
  const std::vector<ValueId>& from = taken.at(fusion.norm).inputs;
  const ops::NormInputs in{.x = from[0],
                           .mean = from[1],
                           .inverse_deviation = from[2],
                           .scale = from[3],
                           .bias = from[4]};
  if (fusion.sum.valid()) {
    return ops::batch_norm_add_relu(b, in, taken.at(fusion.sum).inputs[fusion.residual]);
  }
  return ops::batch_norm_activate(b, in, node.attrs.as<ops::Unary>());
}

}  // namespace

Rewritten fuse_batch_norm(const Graph& graph) {
  const Finder finder(graph);
  return take_over(
      graph, [&](const Node& node) { return finder.find(node); }, fused);
}

}  // namespace lowtide::passes
