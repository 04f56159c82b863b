#include "plan/bound/flow.h"

#include <algorithm>
#include <numeric>

namespace lowtide::plan {

void Flow::connect(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_.push_back({static_cast<std::uint32_t>(to), capacity});
  edges_.push_back({static_cast<std::uint32_t>(from), 0});
  ++begins_[from];
  ++begins_[to];
}

std::int64_t Flow::solve() {
  sort_edges();
  std::int64_t total = 0;
  while (find_levels()) {
    next_.assign(begins_.begin(), begins_.end());
    path_.clear();
    while (const std::int64_t pushed = push()) total += pushed;
  }
  return total;
}

void Flow::sort_edges() {
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  leaving_.resize(edges_.size());
  for (std::size_t i = edges_.size(); i-- > 0;) {
    leaving_[--begins_[edges_[i ^ 1U].to]] = static_cast<std::uint32_t>(i);
  }
}

// Distances from the source along edges with room left; -1 for what cannot be reached, or is no
// nearer than the sink.
bool Flow::find_levels() {
  level_.assign(begins_.size() - 1, -1);
  level_[kSource] = 0;
  reached_.assign(1, kSource);
  for (std::size_t i = 0; i < reached_.size() && level_[kSink] < 0; ++i) {
    const std::uint32_t node = reached_[i];
    for (std::uint32_t at = begins_[node]; at < begins_[node + 1]; ++at) {
      const Edge& edge = edges_[leaving_[at]];
      if (edge.capacity == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[node] + 1;
      reached_.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// One augmenting path along growing levels; 0 if there is none left. It goes on from where the last
// one was full. With an explicit stack: paths may be as long as the network is deep.
std::int64_t Flow::push() {
  std::uint32_t node = path_.empty() ? kSource : edges_[path_.back()].to;
  while (node != kSink) {
    std::uint32_t& at = next_[node];
    const auto leads_on = [&](const Edge& edge) {
      return edge.capacity > 0 && level_[edge.to] == level_[node] + 1;
    };
    while (at < begins_[node + 1] && !leads_on(edges_[leaving_[at]])) ++at;
    if (at < begins_[node + 1]) {
      path_.push_back(leaving_[at]);
      node = edges_[path_.back()].to;
    } else if (path_.empty()) {
      return 0;
    } else {
      node = edges_[path_.back() ^ 1U].to;
      path_.pop_back();
      ++next_[node];
    }
  }
  std::int64_t amount = kInfinite;
  for (const std::uint32_t edge : path_) amount = std::min(amount, edges_[edge].capacity);
  for (const std::uint32_t edge : path_) {
    edges_[edge].capacity -= amount;
    edges_[edge ^ 1U].capacity += amount;
  }
  const auto full = std::find_if(path_.begin(), path_.end(),
                                 [&](std::uint32_t edge) { return edges_[edge].capacity == 0; });
  path_.erase(full, path_.end());
  return amount;
}

}  // namespace lowtide::plan
