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

  explicit Flow(std::size_t nodes) : begins_(nodes + 1) {}  // source and sink included

  void connect(std::size_t from, std::size_t to, std::int64_t capacity);
  std::int64_t solve();  // once
  // After solve(): whether a smallest cut leaves the node on the source's side.
  [[nodiscard]] bool on_source_side(std::size_t node) const { return level_[node] >= 0; }

 private:
  // Every second one is the reverse of that before it.
  struct Edge {
    std::uint32_t to = 0;
    std::int64_t capacity = 0;
  };

  void sort_edges();
  bool find_levels();
  std::int64_t push();

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> leaving_;  // edges by the node that they leave
  std::vector<std::uint32_t> begins_;   // by node: where those are; first, how many there are
  std::vector<std::int32_t> level_;
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> path_;  // edges from the source on
};

}  // namespace lowtide::plan
