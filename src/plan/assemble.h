// Assemble: the last step from a schedule to a plan.
#pragma once

#include "plan/model.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace lowtide::plan {

// Packs the schedule's buffers above `base`, its slots above `file_base`, and writes everything
// out. `offsets` places the persistent values that are in the arena.
Plan assemble(const Model& model,
              const Schedule& schedule,
              const core::IdVector<ValueId, Bytes>& offsets,
              const FileOffsets& file_offsets,
              Bytes base,
              Bytes file_base);

// What assemble() would need of the arena above `base`, and of the file above `file_base`.
Bytes packed_height(const Schedule& schedule);
Bytes packed_slots(const Schedule& schedule);

}  // namespace lowtide::plan
