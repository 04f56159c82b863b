#include "passes/fuse/max_pool.h"

#include <map>
#include <utility>

#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"
#include "ops/conv_max_pool/conv_max_pool.h"
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

// Of one sample of what the pool reads. Smaller ones do not fill the kernels: a sum of gradients
// for each sample takes its time.
constexpr Bytes kLargeConvolved(std::int64_t{4} << 20U);
constexpr Bytes kLargeNormed(std::int64_t{2} << 20U);

// What a pool takes over; invalid: nothing of the kind.
struct Fusion {
  ValueId rectified;
  ValueId convolved;
  ValueId normed;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(graph::readers(graph)) {}

  [[nodiscard]] std::optional<Fusion> find(const Node& node) const {
    if (node.op != &ops::max_pool_op()) return std::nullopt;
    const core::Shape& shape = graph_.type(node.inputs[0]).shape;
    const bool fewer = graph_.type(node.outputs[0]).shape.elements() < shape.elements();
    if (!fewer || !ops::windows_meet_input(node.attrs.as<ops::Pool>(), shape)) return std::nullopt;
    Fusion fusion;
    ValueId x = node.inputs[0];
    if (is_lone(x, ops::batch_norm_activate_op()) && is_large(graph_.type(x), kLargeNormed)) {
      fusion.normed = x;
      return fusion;
    }
    if (is_lone(x, ops::unary_op(ops::UnaryKind::kRelu))) {
      fusion.rectified = x;
      x = producer(graph_, x)->inputs[0];
    }
    if (is_lone(x, ops::conv_op()) && is_large(graph_.type(x), kLargeConvolved))
      fusion.convolved = x;
    const bool any = fusion.rectified.valid() || fusion.convolved.valid();
    return any ? std::optional(fusion) : std::nullopt;
  }

 private:
  [[nodiscard]] bool is_lone(ValueId value, const graph::OpDef& op) const {
    return made_by(graph_, value, op) && read_only_by(graph_, readers_, value);
  }

  static bool is_large(const core::TensorType& type, Bytes large) {
    return type.bytes() >= type.shape[0] * large && type.shape[0] > 0;
  }

  const Graph& graph_;
  Readers readers_;
};

// Emits the new nodes while the graph is rewritten: those taken over leave their inputs here.
class Fuser {
 public:
  explicit Fuser(const Graph& graph) {
    const Finder finder(graph);
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node(NodeId(i));
      const std::optional<Fusion> fusion = finder.find(node);
      if (!fusion) continue;
      fusions_.emplace(node.outputs[0], *fusion);
      for (const ValueId gone : {fusion->rectified, fusion->convolved, fusion->normed}) {
        if (gone.valid()) taken_.emplace(gone, Taken());
      }
    }
  }

  std::optional<std::vector<ValueId>> replace(GraphBuilder& b,
                                              const Node& node,
                                              const std::vector<ValueId>& inputs) {
    if (const auto taken = taken_.find(node.outputs[0]); taken != taken_.end()) {
      taken->second = {.node = &node, .inputs = inputs};
      return std::vector<ValueId>{ValueId()};
    }
    const auto found = fusions_.find(node.outputs[0]);
    if (found == fusions_.end()) return std::nullopt;
    return std::vector<ValueId>{pooled(b, found->second, node.attrs.as<ops::Pool>())};
  }

 private:
  struct Taken {
    const Node* node = nullptr;
    std::vector<ValueId> inputs;
  };

  [[nodiscard]] ValueId pooled(GraphBuilder& b, const Fusion& fusion, const ops::Pool& pool) const {
    if (fusion.normed.valid()) {
      const auto& [norm, from] = taken_.at(fusion.normed);
      return ops::batch_norm_max_pool(
          b,
          {.x = from[0],
           .mean = from[1],
           .inverse_deviation = from[2],
           .scale = from[3],
           .bias = from[4]},
          {.activation = norm->attrs.as<ops::BatchNormActivate>().activation, .pool = pool});
    }
    ValueId y;
    if (fusion.convolved.valid()) {
      const auto& [conv, from] = taken_.at(fusion.convolved);
      y = ops::conv_max_pool(b, from[0], from[1], from.size() > 2 ? from[2] : ValueId(),
                             {.conv = conv->attrs.as<ops::Conv>(), .pool = pool});
    } else {
      y = ops::max_pool(b, taken_.at(fusion.rectified).inputs[0], pool);
    }
    return fusion.rectified.valid() ? ops::relu(b, y) : y;
  }

  std::map<ValueId, Fusion> fusions_;  // by the pool's output
  std::map<ValueId, Taken> taken_;     // nodes gone, by their output
};

}  // namespace

Rewritten fuse_max_pools(const Graph& graph) {
  Fuser fuser(graph);
  return rewrite(graph, [&](GraphBuilder& b, const Node& node, const std::vector<ValueId>& inputs) {
    return fuser.replace(b, node, inputs);
  });
}

}  // namespace lowtide::passes
