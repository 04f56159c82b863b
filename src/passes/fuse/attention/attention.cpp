#include "passes/fuse/attention/attention.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/unread.h"
#include "ops/attention/attention.h"
#include "ops/matmul/matmul.h"
#include "ops/transpose/transpose.h"
#include "passes/dependence.h"
#include "passes/fuse/attention/attention_pattern.h"
#include "passes/fuse/attention/head_views.h"

namespace lowtide::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::Attention;

// Attention on heads as they are, and where its result goes.
struct Fused {
  Attention attributes;
  std::array<HeadView, 3> qkv;
  ValueId mask;
};

kernels::HeadStrides strides_of(const HeadView& view) {
  return {.offset = view.offset,
          .batch = view.strides[0],
          .head = view.strides[1],
          .row = view.strides[2]};
}

Fused from_pattern(const Graph& graph, const AttentionPattern& pattern) {
  Fused fused;
  fused.qkv = {view_of_heads(graph, pattern.q, false),
               view_of_heads(graph, pattern.k, pattern.keys_swapped),
               view_of_heads(graph, pattern.v, false)};
  const auto& q = fused.qkv[0].sizes;
  const auto& v = fused.qkv[2].sizes;
  fused.mask = pattern.mask;
  Attention& a = fused.attributes;
  a.sizes = {.batch = q[0],
             .heads = q[1],
             .kv_heads = v[1],
             .rows = q[2],
             .columns = v[2],
             .depth = q[3],
             .value_depth = v[3]};
  a.scale = pattern.scale;
  a.causal = pattern.causal;
  a.causal_offset = pattern.causal_offset;
  a.fill = pattern.fill;
  a.dropout = pattern.dropout;
  if (pattern.mask_hides) a.mask = ops::MaskKind::kHidden;
  return fused;
}

// The node as the builder made it, if it reads and writes plain heads.
std::optional<Fused> from_node(const Graph& graph, const Node& node) {
  Fused fused{.attributes = node.attrs.as<Attention>()};
  const Attention& a = fused.attributes;
  const kernels::AttentionSizes& s = a.sizes;
  if (a.q.input != 0 || a.k.input != 1 || a.v.input != 2) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    const core::Shape& shape = graph.type(node.inputs[i]).shape;
    if (shape.rank() != 4) return std::nullopt;
    fused.qkv[i] = view_of_heads(graph, node.inputs[i], false);
  }
  const bool plain = strides_of(fused.qkv[0]) == a.q.at && strides_of(fused.qkv[1]) == a.k.at &&
                     strides_of(fused.qkv[2]) == a.v.at &&
                     a.y_at == ops::plain_heads(s.heads, s.rows, s.value_depth);
  if (!plain) return std::nullopt;
  if (node.inputs.size() > 3) fused.mask = node.inputs[3];
  return fused;
}

// The farthest views of queries, keys and values such that each tensor they end in is covered by
// those that share it; nothing where a view has none.
std::optional<std::array<HeadView, 3>> farthest(const Graph& graph,
                                                const std::array<HeadView, 3>& qkv) {
  std::array<std::vector<HeadView>, 3> chains;
  std::array<HeadView, 3> best;
  for (std::size_t i = 0; i < 3; ++i) {
    chains[i] = views_back(graph, qkv[i]);
    if (chains[i].empty()) return std::nullopt;
    best[i] = chains[i].back();
  }
  std::array<bool, 3> shared{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<HeadView> group;
    for (const HeadView& view : best) {
      if (view.value == best[i].value) group.push_back(view);
    }
    shared[i] = cover(graph, group);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (shared[i]) continue;
    const auto alone = std::find_if(chains[i].rbegin(), chains[i].rend(),
                                    [&](const HeadView& view) { return cover(graph, {view}); });
    if (alone == chains[i].rend()) return std::nullopt;
    best[i] = *alone;
  }
  return best;
}

// The node whose result is the attention's: a transposition that alone reads it, or itself.
NodeId result_node(const Graph& graph, const Readers& readers, NodeId at, Attention& a) {
  const ValueId y = graph.node(at).outputs[0];
  const core::TensorType& type = graph.type(y);
  const HeadView heads = view_of_heads(graph, y, false);
  a.shape = type.shape;
  a.y_at = strides_of(heads);
  if (!read_only_by(graph, readers, y) || type.shape.rank() != 4) return at;
  const Node& reader = graph.node(readers[y][0]);
  if (reader.op != &ops::transpose_op()) return at;
  const std::vector<std::size_t>& perm = reader.attrs.as<ops::Transpose>().perm;
  const core::TensorType& to = graph.type(reader.outputs[0]);
  if (perm.back() != 3 || to.layout != core::Layout::kPlain) return at;
  const std::vector<std::int64_t> strides = core::strides(to);
  std::array<std::int64_t, 4> of_axis{};
  for (std::size_t i = 0; i < perm.size(); ++i) of_axis[perm[i]] = strides[i];
  a.shape = to.shape;
  a.y_at = {.batch = of_axis[0], .head = of_axis[1], .row = of_axis[2]};
  return readers[y][0];
}

// Puts an attention node where the node `at` stands; the result keeps its id.
void put_at(Graph& graph, NodeId at, const Fused& fused) {
  graph::GraphBuilder builder(graph, graph.node(at).phase);
  builder.set_scope(graph.node(at).name);
  std::array<ops::Heads, 3> heads;
  for (std::size_t i = 0; i < 3; ++i) {
    heads[i] = {.tensor = fused.qkv[i].value, .at = strides_of(fused.qkv[i])};
  }
  ops::attention(builder, heads, fused.mask, fused.attributes);
  Node made = graph.node(NodeId(graph.node_count() - 1));
  Node& old = graph.node(at);
  made.outputs[0] = old.outputs[0];
  made.name = old.name;
  for (const ValueId output : made.outputs) graph.value(output).producer = at;
  old = std::move(made);
}

bool fuse_node(Graph& graph, const Readers& readers, NodeId id) {
  const Node& node = graph.node(id);
  std::optional<Fused> fused;
  if (node.op == &ops::attention_op()) {
    fused = from_node(graph, node);
  } else if (node.op == &ops::matmul_op()) {
    if (const auto pattern = find_attention(graph, readers, id)) {
      fused = from_pattern(graph, *pattern);
    }
  }
  if (!fused) return false;
  const auto views = farthest(graph, fused->qkv);
  if (!views) return false;
  fused->qkv = *views;
  put_at(graph, result_node(graph, readers, id, fused->attributes), *fused);
  return true;
}

}  // namespace

void fuse_attention(Graph& graph) {
  const Readers readers = graph::readers(graph);
  const std::size_t count = graph.node_count();
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) any = fuse_node(graph, readers, NodeId(i)) || any;
  if (!any) return;
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < count; ++i) order.emplace_back(i);
  graph.keep_nodes(order);
  graph::drop_unread(graph);
}

}  // namespace lowtide::passes
