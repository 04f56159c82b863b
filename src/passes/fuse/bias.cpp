#include "passes/fuse/bias.h"

#include <vector>

#include "graph/unread.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "passes/dependence.h"
#include "passes/fuse/numbers.h"

namespace lowtide::passes {
namespace {

using graph::Attrs;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool is_row(const Graph& graph, ValueId id, std::int64_t columns) {
  const core::TensorType& type = graph.type(id);
  return type.shape.rank() == 1 && type.shape[0] == columns;
}

// The product without a bias that makes the value.
const Node* bare_product(const Graph& graph, ValueId id) {
  if (!made_by(graph, id, ops::matmul_op())) return nullptr;
  const Node* const node = producer(graph, id);
  return node->attrs.as<ops::MatMul>().bias ? nullptr : node;
}

}  // namespace

void fuse_biases(Graph& graph) {
  const Readers readers = graph::readers(graph);
  bool any = false;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    Node& sum = graph.node(NodeId(i));
    if (sum.op != &ops::binary_op(ops::BinaryKind::kAdd)) continue;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Node* const product = bare_product(graph, sum.inputs[side]);
      const ValueId bias = sum.inputs[1 - side];
      if (product == nullptr || !read_only_by(graph, readers, sum.inputs[side])) continue;
      const core::Shape& shape = graph.type(sum.inputs[side]).shape;
      if (!is_row(graph, bias, shape[shape.rank() - 1])) continue;
      ops::MatMul attributes = product->attrs.as<ops::MatMul>();
      attributes.bias = true;
      sum.op = &ops::matmul_op();
      sum.attrs = Attrs::of(attributes);
      sum.inputs = {product->inputs[0], product->inputs[1], bias};
      any = true;
      break;
    }
  }
  if (any) graph::drop_unread(graph);
}

}  // namespace lowtide::passes
