// PlanFile: the plans of all programs of a run as a file holds them, so that a later run obeys them
// and other programs can look at them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace lowtide::plan {

// Values and nodes of a program's graph, for readers that do not have it.
struct FileValue {
  std::string name;
  std::string type;  // "float32[32, 64, 56, 56] channels-last"
  std::string role;
  Bytes bytes;
};

struct FileNode {
  std::string name;
  std::string op;
  std::string phase;
  std::string kernel;
  double seconds = 0;  // of one execution, as the plan was made
  std::vector<ValueId> in;
  std::vector<ValueId> out;
};

struct FileProgram {
  std::string purpose;       // "train", "accumulate", "update"
  std::int64_t samples = 0;  // of one pass
  std::string digest;        // of the graph and what its kernels need: digest() below
  std::vector<FileValue> values;
  std::vector<FileNode> nodes;
  Plan plan;
};

// A persistent value that the programs share.
struct FileState {
  std::string name;
  Bytes bytes;
  bool in_file = false;  // its home is the spill file
  Bytes offset;          // there or in the arena
};

struct PlanFile {
  // What the run was, option by option: a run that differs in one of them is another.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string costs;  // "model" or "measured"
  Bytes budget;       // that the plans were made for
  Bytes runtime;      // of that, what is not arena
  std::vector<FileState> state;
  std::vector<FileProgram> programs;
};

// What a plan relies on, as 16 hexadecimal digits: names, types, roles, ops and edges of the graph,
// and each node's scratch. Of two graphs with one digest, a plan for one is right for the other;
// plan::check has the last word.
std::string digest(const graph::Graph& graph, const Costs& costs);

// As JSON, an item a line. Holds no copy of the text.
void write_plan_file(std::ostream& stream, const PlanFile& file);

// Throws Error(kInvalidFile) naming `name`, the field and what was found there. Every number of the
// result is in the range of its type; whether ids exist and plans are right is for plan::check.
PlanFile parse_plan_file(std::string_view text, const std::string& name);
PlanFile read_plan_file(const std::filesystem::path& path);

}  // namespace lowtide::plan
