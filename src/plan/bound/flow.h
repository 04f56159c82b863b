// Flow: a directed network with capacities, its largest flow and smallest cut (Dinic 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowtide::plan {

class Flow {
 public:
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;
  static constexpr std::int64_t kInfinite = std::int64_t{1} << 60;

  explicit Flow(std::size_t nodes) : edges_(nodes) {}  // source and sink included

  void connect(std::size_t from, std::size_t to, std::int64_t capacity);
  std::int64_t solve();  // once
  // After solve(): whether a smallest cut leaves the node on the source's side.
  [[nodiscard]] bool on_source_side(std::size_t node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    std::size_t to = 0;
    std::size_t back = 0;  // index of the reverse edge at `to`
    std::int64_t capacity = 0;
  };

  bool find_levels();
  std::int64_t push();

  std::vector<std::vector<Edge>> edges_;
  std::vector<std::int32_t> level_;
  std::vector<std::size_t> next_;
  std::vector<std::pair<std::size_t, std::size_t>> path_;  // node, edge
};

}  // namespace lowtide::plan
