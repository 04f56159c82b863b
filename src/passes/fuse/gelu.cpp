#include "passes/fuse/gelu.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "graph/unread.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"
#include "passes/fuse/numbers.h"

namespace lowtide::passes {
namespace {

using graph::Attrs;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::BinaryKind;
using ops::UnaryKind;

// Files hold the constants as float32.
bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

// A product: its number and its other factors.
struct Product {
  double number = 1;
  std::vector<ValueId> factors;
};

// Leaves off where there are more factors than any pattern has.
void multiply_out(const Graph& graph, ValueId id, Product& product) {
  if (product.factors.size() > 3) return;
  if (const auto inner = scaled(graph, id)) {
    product.number *= inner->factor;
    multiply_out(graph, inner->x, product);
  } else if (made_by(graph, id, ops::binary_op(BinaryKind::kMul))) {
    for (const ValueId input : producer(graph, id)->inputs) multiply_out(graph, input, product);
  } else {
    product.factors.push_back(id);
  }
}

Product product_of(const Graph& graph, ValueId id) {
  Product product;
  multiply_out(graph, id, product);
  return product;
}

// The other operand of a sum with one that the test takes.
template <class Test>
std::optional<ValueId> beside(const Graph& graph, ValueId sum, const Test& test) {
  if (!made_by(graph, sum, ops::binary_op(BinaryKind::kAdd))) return std::nullopt;
  const std::vector<ValueId>& inputs = producer(graph, sum)->inputs;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (test(inputs[i])) return inputs[1 - i];
  }
  return std::nullopt;
}

bool is_cube(const Graph& graph, ValueId id, ValueId x) {
  const Product product = product_of(graph, id);
  if (!close(product.number, 0.044715)) return false;
  if (product.factors == std::vector<ValueId>(3, x)) return true;
  if (product.factors.size() != 1) return false;
  const ValueId power = product.factors[0];
  return made_by(graph, power, ops::binary_op(BinaryKind::kPow)) &&
         producer(graph, power)->inputs[0] == x &&
         constant_number(graph, producer(graph, power)->inputs[1]) == 3.0;
}

// Whether the value is erf(x / sqrt 2), or the tanh that comes near it.
bool is_curve(const Graph& graph, ValueId id, ValueId x, UnaryKind& kind) {
  if (made_by(graph, id, ops::unary_op(UnaryKind::kErf))) {
    kind = UnaryKind::kGelu;
    const Product inner = product_of(graph, producer(graph, id)->inputs[0]);
    return close(inner.number, 1 / std::numbers::sqrt2) && inner.factors == std::vector{x};
  }
  if (!made_by(graph, id, ops::unary_op(UnaryKind::kTanh))) return false;
  kind = UnaryKind::kGeluTanh;
  const Product inner = product_of(graph, producer(graph, id)->inputs[0]);
  if (!close(inner.number, std::sqrt(2 / std::numbers::pi)) || inner.factors.size() != 1) {
    return false;
  }
  const auto cube = beside(graph, inner.factors[0], [&](ValueId part) { return part == x; });
  return cube && is_cube(graph, *cube, x);
}

// x and the kind of GELU, if the product is one.
std::optional<std::pair<ValueId, UnaryKind>> find_gelu(const Graph& graph, ValueId id) {
  const Product product = product_of(graph, id);
  if (product.factors.size() != 2 || !close(product.number, 0.5)) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId x = product.factors[i];
    const auto curve = beside(graph, product.factors[1 - i],
                              [&](ValueId part) { return constant_number(graph, part) == 1.0; });
    UnaryKind kind{};
    if (curve && is_curve(graph, *curve, x, kind)) return std::pair(x, kind);
  }
  return std::nullopt;
}

}  // namespace

void fuse_gelu(Graph& graph) {
  bool any = false;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (node.op != &ops::binary_op(BinaryKind::kMul) &&
        node.op != &ops::unary_op(UnaryKind::kScale)) {
      continue;
    }
    const auto found = find_gelu(graph, node.outputs[0]);
    if (!found || graph.type(found->first) != graph.type(node.outputs[0])) continue;
    Node& fused = graph.node(NodeId(i));
    fused.op = &ops::unary_op(found->second);
    fused.attrs = Attrs::of(ops::Unary{.kind = found->second});
    fused.inputs = {found->first};
    any = true;
  }
  if (any) graph::drop_unread(graph);
}

}  // namespace lowtide::passes
