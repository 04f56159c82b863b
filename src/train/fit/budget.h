// The budget: how the process's resident memory divides into the arena and everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lowtide/bytes.h"

#include "kernels/dnnl/engine.h"

namespace lowtide::train {

// What of the process outside the arena scales with the work, in counts the planner knows.
struct RuntimeNeeds {
  kernels::PrimitiveCounts primitives;  // of oneDNN: generated code, descriptors
  std::size_t nodes = 0;                // of all graphs: nodes, plans, programs, own kernels
  Bytes buffers;                        // data loading
  int threads = 1;
};

// Resident bytes outside the arena, allowed for: a fixed share for code and libraries and one for
// each need. A whole number of MiB, and the same in every process, so that the smallest feasible
// budget is one number. Set from measurements with room to spare; where a process is found to use
// more, `settle_runtime` counts what it really uses.
Bytes runtime_allowance(const RuntimeNeeds& needs);

// The larger of the allowance and what the process has resident now, plus what may still come.
Bytes settle_runtime(const RuntimeNeeds& needs);

// The smallest budget that holds both, in whole MiB: the number that users are told.
Bytes smallest_budget(Bytes runtime, Bytes arena);

// The budget asked for, or what the control groups or the machine leave.
Bytes settle_budget(const std::optional<Bytes>& asked);

// What to say of a budget above the limit that control groups set; empty below it.
std::string budget_warning(Bytes budget);

}  // namespace lowtide::train
