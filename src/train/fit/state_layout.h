// StateLayout: one place for each persistent value, in the arena or in the spill file, shared by
// all programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"
#include "graph/graph.h"
#include "memory/spill/store.h"
#include "plan/planner.h"

namespace lowtide::train {

// Where each entry of a layout lies; one of several ways.
struct StatePlaces {
  std::vector<char> in_file;   // by entry
  std::vector<Bytes> offsets;  // in the arena or in the file
  Bytes arena_bytes;
  Bytes file_bytes;
};

// Parameters, statistics and optimizer state are one value per name, whichever program's graph they
// stand in. Constants are shared where name, type and content agree.
class StateLayout {
 public:
  // Offsets of the graph's persistent values without a producer, all in the arena; new ones are
  // appended.
  core::IdVector<graph::ValueId, Bytes> place(const graph::Graph& graph);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  // The bytes of all values of one role.
  [[nodiscard]] Bytes bytes(graph::Role role) const;
  // Those of them that lie in the arena.
  [[nodiscard]] Bytes bytes(graph::Role role, const StatePlaces& places) const;

  // Everything in the arena, and then more and more of it in a spill file: what has the greatest
  // `leisure`, by entry, first. Values of less than 64 KiB never go there.
  [[nodiscard]] std::vector<StatePlaces> places(const std::vector<double>& leisure) const;
  // The arena alone.
  [[nodiscard]] StatePlaces resident() const;
  // With these entries in the file, by entry.
  [[nodiscard]] StatePlaces arrange(const std::vector<char>& in_file) const;
  // The same for one graph's values.
  [[nodiscard]] plan::Homes homes(const graph::Graph& graph, const StatePlaces& places) const;

  // The entry of a persistent value without a producer, of a graph that was placed.
  [[nodiscard]] std::size_t entry(const graph::Value& value) const;

  [[nodiscard]] std::size_t count() const { return entries_.size(); }
  [[nodiscard]] const std::string& name(std::size_t entry) const { return entries_[entry].name; }
  [[nodiscard]] Bytes size(std::size_t entry) const { return entries_[entry].type.bytes(); }

  // Reads every value into its place: from its file, straight into the arena; from memory; or
  // leaves zeros (the arena must be fresh). Throws Error(kNumeric) naming the first parameter or
  // statistic that holds a NaN or an infinity, Error(kIo) for a file that cannot be read.
  void load(std::byte* arena) const;
  // The same where some values live in the file: those pass through 256 KiB of memory.
  void load(std::byte* arena, const StatePlaces& places, memory::SpillStore& file) const;

  // One state value and its place in StatePlaces.
  struct State {
    std::string name;
    core::TensorType type;
    graph::Role role = graph::Role::kParameter;
    std::size_t entry = 0;
  };
  // Of every state value.
  [[nodiscard]] std::vector<State> states() const;

  [[nodiscard]] bool contains(const std::string& name) const { return by_name_.contains(name); }
  // Where the state of that name lies; throws Error(kInvalidArgument) where there is none.
  [[nodiscard]] Bytes offset(const std::string& name) const;
  // Its entry in StatePlaces; throws likewise.
  [[nodiscard]] std::size_t entry(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    core::TensorType type;
    graph::Role role;
    graph::Content content;
    Bytes offset;
  };

  using Files = std::map<std::string, core::File>;

  // Some of an entry's bytes; false where they are zeros.
  static bool fill(const Entry& entry, std::int64_t from, std::span<std::byte> bytes, Files& files);
  [[nodiscard]] const Entry* find(const graph::Value& value) const;

  std::vector<Entry> entries_;
  std::multimap<std::string, std::size_t> by_name_;
  Bytes bytes_;
};

}  // namespace lowtide::train
