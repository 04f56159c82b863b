#include "plan/bound/flow.h"

#include <algorithm>
#include <utility>

namespace lowtide::plan {

void Flow::connect(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_[from].push_back({to, edges_[to].size(), capacity});
  edges_[to].push_back({from, edges_[from].size() - 1, 0});
}

std::int64_t Flow::solve() {
  std::int64_t total = 0;
  while (find_levels()) {
    next_.assign(edges_.size(), 0);
    while (const std::int64_t pushed = push()) total += pushed;
  }
  return total;
}

// Distances from the source along edges with room left; -1 for what cannot be reached.
bool Flow::find_levels() {
  level_.assign(edges_.size(), -1);
  level_[kSource] = 0;
  std::vector<std::size_t> reached = {kSource};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& edge : edges_[reached[i]]) {
      if (edge.capacity == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[reached[i]] + 1;
      reached.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// One augmenting path along growing levels; 0 if there is none left. With an explicit stack: paths
// may be as long as the network is deep.
std::int64_t Flow::push() {
  path_.clear();
  std::size_t node = kSource;
  while (node != kSink) {
    std::size_t& at = next_[node];
    const std::vector<Edge>& edges = edges_[node];
    while (at < edges.size() &&
           (edges[at].capacity == 0 || level_[edges[at].to] != level_[node] + 1)) {
      ++at;
    }
    if (at < edges.size()) {
      path_.emplace_back(node, at);
      node = edges[at].to;
    } else if (path_.empty()) {
      return 0;
    } else {
      node = path_.back().first;
      path_.pop_back();
      ++next_[node];
    }
  }
  std::int64_t amount = kInfinite;
  for (const auto& [from, edge] : path_) amount = std::min(amount, edges_[from][edge].capacity);
  for (const auto& [from, edge] : path_) {
    Edge& forward = edges_[from][edge];
    forward.capacity -= amount;
    edges_[forward.to][forward.back].capacity += amount;
  }
  return amount;
}

}  // namespace lowtide::plan
