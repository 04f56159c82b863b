// Runs plans of small graphs on real bytes, and the same graph without any plan.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace lowtide::plan {

// The bytes of every output of the graph and of the last version of every state value, by name.
using Results = std::map<std::string, std::vector<std::byte>>;

// Each value in memory of its own.
Results evaluate(const graph::Graph& graph);
// Step by step in one arena of plan.arena_bytes, with transfers as slow as they may be: bytes reach
// the file or the arena when a transfer finishes, and until then a fetch leaves other bytes there.
Results execute(const graph::Graph& graph, const Plan& plan, const FileOffsets& file_offsets = {});

}  // namespace lowtide::plan
