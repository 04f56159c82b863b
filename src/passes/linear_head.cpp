#include "passes/linear_head.h"

#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"
#include "passes/fuse/numbers.h"

namespace lowtide::passes {
namespace {

using core::Shape;
using graph::Graph;
using graph::Node;
using graph::ValueId;

std::int64_t last(const Shape& shape) { return shape[shape.rank() - 1]; }

// Through reshapes that keep the last axis.
ValueId through_reshapes(const Graph& graph, ValueId id) {
  while (made_by(graph, id, ops::reshape_op())) {
    const ValueId inner = producer(graph, id)->inputs[0];
    const Shape& from = graph.type(inner).shape;
    if (from.rank() == 0 || last(from) != last(graph.type(id).shape)) break;
    id = inner;
  }
  return id;
}

bool is_row(const Shape& shape, std::int64_t classes) {
  return shape.rank() == 1 && shape[0] == classes;
}

}  // namespace

std::optional<LinearHead> find_linear_head(const Graph& graph, ValueId logits) {
  if (graph.type(logits).shape.rank() < 2) return std::nullopt;
  const std::int64_t classes = last(graph.type(logits).shape);
  LinearHead head;
  ValueId product = through_reshapes(graph, logits);
  if (made_by(graph, product, ops::binary_op(ops::BinaryKind::kAdd))) {
    const Node* const sum = producer(graph, product);
    const bool row_first = is_row(graph.type(sum->inputs[0]).shape, classes);
    head.bias = sum->inputs[row_first ? 0 : 1];
    if (!is_row(graph.type(head.bias).shape, classes)) return std::nullopt;
    product = through_reshapes(graph, sum->inputs[row_first ? 1 : 0]);
  }
  if (!made_by(graph, product, ops::matmul_op())) return std::nullopt;
  const Node* const node = producer(graph, product);
  const auto& a = node->attrs.as<ops::MatMul>();
  head.hidden = node->inputs[0];
  head.weight = node->inputs[1];
  head.transposed = a.transpose_b;
  if (a.transpose_a || (a.bias && head.bias.valid())) return std::nullopt;
  if (a.bias) head.bias = node->inputs[2];
  if (head.bias.valid() && !is_row(graph.type(head.bias).shape, classes)) return std::nullopt;
  if (graph.type(head.weight).shape.rank() != 2) return std::nullopt;
  if (made_by(graph, head.weight, ops::transpose_op())) {
    head.weight = producer(graph, head.weight)->inputs[0];
    head.transposed = !head.transposed;
  }
  return head;
}

}  // namespace lowtide::passes
