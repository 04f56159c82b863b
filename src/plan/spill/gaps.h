// Gaps: when the buffers of a schedule lie idle, so that their contents may leave memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/schedule.h"

namespace lowtide::plan {

// A buffer between two uses. Before the first use of a value whose home is the file, and after its
// last, it must be out of memory; elsewhere it may be.
struct Gap {
  std::int32_t buffer = 0;
  std::int32_t after = 0;    // the step of the use before; -1: none, it is in the file
  std::int32_t before = 0;   // the step of the use that follows; the number of steps: none
  ValueId value;             // what the buffer holds
  std::int32_t version = 0;  // counts what was written to the buffer; 0: as the file has it
  bool required = false;

  [[nodiscard]] bool fetches(std::int32_t steps) const { return before < steps; }
};

struct Gaps {
  std::vector<Gap> all;           // by buffer, then by time
  std::vector<Bytes> file_homes;  // by buffer: of values whose home is the file, else kInArena
};

// The schedule with buffers for the persistent values whose home is the file, each in use from the
// first step that touches it to the last, and with all sizes multiples of kTransferAlignment.
Schedule with_file_state(const Model& model, Schedule schedule, const FileOffsets& offsets);

// Gaps with at least one step inside, in buffers of `smallest` bytes or more and in those of values
// whose home is the file. Buffers that hold an output have none.
Gaps find_gaps(const Model& model,
               const Schedule& schedule,
               const FileOffsets& offsets,
               Bytes smallest);

}  // namespace lowtide::plan
