#include "run/kernels.h"

#include <algorithm>
#include <unordered_map>

#include "core/text.h"

namespace lowtide::run {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;

bool same_work(const Graph& graph, const Node& a, const Node& b) {
  const auto same_types = [&](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](auto i, auto k) { return graph.type(i) == graph.type(k); });
  };
  return a.op == b.op && a.attrs == b.attrs && same_types(a.inputs, b.inputs) &&
         same_types(a.outputs, b.outputs);
}

}  // namespace

Kernels Kernels::bind(const Graph& graph, const core::Machine& machine) {
  Kernels result;
  // Candidates for sharing, by op and size of the first output.
  std::unordered_multimap<std::size_t, NodeId> seen;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id(i);
    const Node& node = graph.node(id);
    const auto size = static_cast<std::size_t>(graph.type(node.outputs.at(0)).bytes().count());
    const std::size_t key = std::hash<const void*>{}(node.op) ^ (size * 0x9E3779B97F4A7C15U);
    const auto [first, last] = seen.equal_range(key);
    const auto twin = std::find_if(first, last, [&](const auto& entry) {
      return same_work(graph, node, graph.node(entry.second));
    });
    if (twin != last) {
      result.by_node_.push_back(result.by_node_[twin->second]);
      continue;
    }
    seen.emplace(key, id);
    const auto in = graph.types(node.inputs);
    const auto out = graph.types(node.outputs);
    try {
      result.kernels_.push_back(node.op->bind(node.attrs, {in, out}, machine));
    } catch (const Error& error) {
      throw error.within(core::text("node '{}' ({})", node.name, node.op->name()));
    }
    result.by_node_.push_back(result.kernels_.size() - 1);
  }
  return result;
}

}  // namespace lowtide::run
