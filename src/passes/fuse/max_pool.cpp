#include "passes/fuse/max_pool.h"

#include <array>
#include <optional>

#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"
#include "ops/conv_max_pool/conv_max_pool.h"
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

// Of one sample of what the pool reads. Smaller ones do not fill the kernels: a sum of gradients
// for each sample takes its time.
constexpr Bytes kLargeConvolved(std::int64_t{4} << 20U);
constexpr Bytes kLargeNormed(std::int64_t{2} << 20U);

// What a pool takes over; invalid: nothing of the kind.
struct Fusion {
  ValueId rectified;
  ValueId convolved;
  ValueId normed;

  [[nodiscard]] std::array<ValueId, 3> gone() const { return {rectified, convolved, normed}; }
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

ValueId pooled(GraphBuilder& b, const Node& node, const Fusion& fusion, const TakenOver& taken) {
  const auto& pool = node.attrs.as<ops::Pool>();
  if (fusion.normed.valid()) {
    const auto& [norm, from] = taken.at(fusion.normed);
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
    const auto& [conv, from] = taken.at(fusion.convolved);
    y = ops::conv_max_pool(b, from[0], from[1], from.size() > 2 ? from[2] : ValueId(),
                           {.conv = conv->attrs.as<ops::Conv>(), .pool = pool});
  } else {
    y = ops::max_pool(b, taken.at(fusion.rectified).inputs[0], pool);
  }
  return fusion.rectified.valid() ? ops::relu(b, y) : y;
}

}  // namespace

Rewritten fuse_max_pools(const Graph& graph) {
  const Finder finder(graph);
  return take_over(
      graph, [&](const Node& node) { return finder.find(node); }, pooled);
}

}  // namespace lowtide::passes
