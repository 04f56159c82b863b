#include "ops/matmul_update/matmul_update.h"

#include <algorithm>
#include <utility>

#include "ops/gradient_norm/gradient_norm.h"
#include "ops/matmul_update/matmul_update_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

std::vector<TensorType> infer(const MatMulUpdate& a, Types in) {
  const MatMulUpdateParts parts(a, in, in[0].shape[1]);
  const std::vector<TensorType> product = matmul_op().infer(parts.product, parts.product_in);
  LT_CHECK(product[0] == in[2], "the product is the parameter's gradient");
  std::vector<TensorType> out = {{core::DType::kFloat64, {}}};
  for (TensorType& type : parts.update_op.infer(parts.update, parts.update_in)) {
    out.push_back(std::move(type));
  }
  return out;
}

Cost cost(const MatMulUpdate& a, const Signature& types) {
  const MatMulUpdateParts parts(a, types.in, types.in[0].shape[1]);
  const std::vector<TensorType> gradient = {parts.gradient};
  const Cost product = matmul_op().cost(parts.product, {parts.product_in, gradient});
  const Cost update = parts.update_op.cost(parts.update, {parts.update_in, types.out.subspan(1)});
  return {.flops = product.flops + update.flops +
                   2.0 * static_cast<double>(parts.gradient.shape.elements()),
          .traffic = product.traffic + update.traffic + parts.gradient.bytes()};
}

std::vector<Alias> share(const MatMulUpdate& a, const Signature& types) {
  const MatMulUpdateParts parts(a, types.in, types.in[0].shape[1]);
  std::vector<Alias> all =
      parts.update_op.aliases(parts.update, {parts.update_in, types.out.subspan(1)});
  for (Alias& alias : all) {
    alias.output += 1;
    alias.input += alias.input == 0 ? 2 : 1;  // the gradient is none
  }
  return all;
}

// The product's kernel must sum each element in the same way whatever the rows beside it.
bool suits(const Graph& graph, const Node& product) {
  constexpr std::int64_t kColumns = 512;
  const auto& a = product.attrs.as<MatMul>();
  const core::Shape& shape = graph.type(product.outputs[0]).shape;
  return a.transpose_a && !a.transpose_b && !a.bias && shape.rank() == 2 && shape[1] >= kColumns &&
         graph.type(product.outputs[0]).dtype == core::DType::kFloat32;
}

}  // namespace

const OpDef& matmul_update_op() {
  static const TypedOp<MatMulUpdate> op{{
      .name = "MatMulUpdate",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kNever,
      .alias_rule = share,
      .kernels = matmul_update_kernels(),
  }};
  return op;
}

std::optional<MatMulUpdateMatch> match_matmul_update(
    const Graph& graph,
    const core::IdVector<ValueId, std::vector<NodeId>>& readers,
    NodeId update) {
  const Node& step = graph.node(update);
  MatMulUpdate a;
  if (step.op == &sgd_update_op()) {
    a.update = step.attrs.as<SgdUpdate>();
    if (step.attrs.as<SgdUpdate>().has_clip) return std::nullopt;
  } else if (step.op == &adam_update_op()) {
    a.update = step.attrs.as<AdamUpdate>();
    if (step.attrs.as<AdamUpdate>().has_clip) return std::nullopt;
  } else {
    return std::nullopt;
  }
  const ValueId gradient = step.inputs[1];
  const NodeId product = graph.value(gradient).producer;
  if (!product.valid() || graph.node(product).op != &matmul_op()) return std::nullopt;
  const std::vector<ValueId>& wanted = graph.outputs();
  const std::vector<NodeId>& read_by = readers[gradient];
  if (std::find(wanted.begin(), wanted.end(), gradient) != wanted.end()) return std::nullopt;
  if (read_by.size() != 2 || !suits(graph, graph.node(product))) return std::nullopt;
  const NodeId sum = read_by[0] == update ? read_by[1] : read_by[0];
  if (graph.node(sum).op != &sum_squares_op()) return std::nullopt;
  std::vector<ValueId> inputs = graph.node(product).inputs;
  inputs.push_back(step.inputs[0]);
  inputs.insert(inputs.end(), step.inputs.begin() + 2, step.inputs.end());
  std::vector<ValueId> outputs = graph.node(sum).outputs;
  outputs.insert(outputs.end(), step.outputs.begin(), step.outputs.end());
  return MatMulUpdateMatch{.product = product,
                           .sum = sum,
                           .node = {.name = step.name,
                                    .op = &matmul_update_op(),
                                    .attrs = Attrs::of(std::move(a)),
                                    .inputs = std::move(inputs),
                                    .outputs = std::move(outputs),
                                    .phase = step.phase,
                                    .alternative_to = {}}};
}

}  // namespace lowtide::ops
