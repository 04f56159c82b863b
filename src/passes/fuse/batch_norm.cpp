#include "passes/fuse/batch_norm.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"
#include "passes/dependence.h"
#include "passes/fuse/numbers.h"

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What an activation takes over: the output of the norm and, where there is one, of the sum.
struct Fusion {
  ValueId norm;
  ValueId sum;
  std::size_t residual = 0;  // which input of the sum is not the norm
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

// Emits the fused nodes while the graph is rewritten: those taken over leave their inputs here.
class Fuser {
 public:
  explicit Fuser(const Graph& graph) {
    const Finder finder(graph);
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node(NodeId(i));
      const std::optional<Fusion> fusion = finder.find(node);
      if (!fusion) continue;
      fusions_.emplace(node.outputs[0], *fusion);
      taken_.emplace(fusion->norm, std::vector<ValueId>());
      if (fusion->sum.valid()) taken_.emplace(fusion->sum, std::vector<ValueId>());
    }
  }

  std::optional<std::vector<ValueId>> replace(GraphBuilder& b,
                                              const Node& node,
                                              const std::vector<ValueId>& inputs) {
    if (const auto taken = taken_.find(node.outputs[0]); taken != taken_.end()) {
      taken->second = inputs;
      return std::vector<ValueId>{ValueId()};
    }
    const auto found = fusions_.find(node.outputs[0]);
    if (found == fusions_.end()) return std::nullopt;
    const auto& [norm, sum, residual] = found->second;
    const std::vector<ValueId>& from = taken_.at(norm);
    const ops::NormInputs in{.x = from[0],
                             .mean = from[1],
                             .inverse_deviation = from[2],
                             .scale = from[3],
                             .bias = from[4]};
    if (sum.valid()) {
      return std::vector{ops::batch_norm_add_relu(b, in, taken_.at(sum)[residual])};
    }
    return std::vector{ops::batch_norm_activate(b, in, node.attrs.as<ops::Unary>())};
  }

 private:
  std::map<ValueId, Fusion> fusions_;              // by the activation's output
  std::map<ValueId, std::vector<ValueId>> taken_;  // inputs of nodes gone, by their output
};

}  // namespace

Rewritten fuse_batch_norm(const Graph& graph) {
  Fuser fuser(graph);
  return rewrite(graph, [&](GraphBuilder& b, const Node& node, const std::vector<ValueId>& inputs) {
    return fuser.replace(b, node, inputs);
  });
}

}  // namespace lowtide::passes
