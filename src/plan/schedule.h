// Schedules: the buffers a sequence of executions needs, how long each is in use, and which
// buffer every input and output lies in. Offsets come later.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model.h"
#include "plan/packing/pack.h"
#include "plan/sequence.h"

namespace lowtide::plan {

// One computation of one transient value: from the step that writes it to the last that reads it
// before it is written again.
struct Copy {
  ValueId value;
  std::int32_t written = 0;
  std::int32_t last_read = 0;
  std::int32_t buffer = 0;
};

// Several copies may pass through one buffer: views, and values written in place.
struct TransientBuffer {
  ValueId value;  // the first one in it; invalid for scratch
  Item item;
};

// A stretch of the spill file, in use between two steps.
struct ScheduledSlot {
  ValueId value;
  Item item;
  Bytes home = kInArena;  // of a persistent value: its offset in the file
};

struct ScheduledTransfer {
  Direction direction = Direction::kStore;
  ValueId value;
  std::int32_t buffer = 0;
  std::int32_t slot = 0;
  std::int32_t start = 0;
  std::int32_t finish = 0;
};

struct Schedule {
  Sequence sequence;
  std::vector<Copy> copies;
  std::vector<TransientBuffer> buffers;  // the inputs' first, as in Model::inputs
  // By operand: a node's inputs, then its outputs, for each execution in turn. Copies, or
  // kPersistent where the operand has a fixed place.
  std::vector<std::int32_t> operands;
  std::vector<std::int32_t> scratch;  // by step: a buffer, or kNone
  // What spilling adds.
  std::vector<ScheduledTransfer> transfers;  // as Plan::transfers
  std::vector<ScheduledSlot> slots;
  double stall_seconds = 0;

  static constexpr std::int32_t kPersistent = -1;
  static constexpr std::int32_t kNone = -1;
};

Schedule make_schedule(const Model& model, Sequence sequence);

// Transient bytes in use at each step.
std::vector<Bytes> profile(const Schedule& schedule);

}  // namespace lowtide::plan
