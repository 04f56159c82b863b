// StateLayout: one place in the arena for each persistent value, shared by all programs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lowtide::train {

// Parameters, statistics and optimizer state are one value per name, whichever program's graph they
// stand in. Constants are shared where name, type and content agree.
class StateLayout {
 public:
  // Offsets of the graph's persistent values without a producer; new ones are appended.
  core::IdVector<graph::ValueId, Bytes> place(const graph::Graph& graph);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  // The bytes of all values of one role.
  [[nodiscard]] Bytes bytes(graph::Role role) const;

  // Reads every value into its place: from its file, straight into the arena; from memory; or
  // leaves zeros (the arena must be fresh). Throws Error(kNumeric) naming the first parameter or
  // statistic that holds a NaN or an infinity, Error(kIo) for a file that cannot be read.
  void load(std::byte* arena) const;

  // Where the state of that name lies; throws Error(kInvalidArgument) where there is none.
  [[nodiscard]] Bytes offset(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    core::TensorType type;
    graph::Role role;
    graph::Content content;
    Bytes offset;
  };

  [[nodiscard]] const Entry* find(const graph::Value& value) const;

  std::vector<Entry> entries_;
  std::multimap<std::string, std::size_t> by_name_;
  Bytes bytes_;
};

}  // namespace lowtide::train
