// Assemble: the last step from a schedule to a plan.
#pragma once

#include "plan/model.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace lowtide::plan {

// Places for the schedule's buffers. `enough`: a height that will do, as in pack().
Packing pack_buffers(const Schedule& schedule, Bytes enough = {});
// What its slots need of the file, beside what lives there.
Bytes packed_slots(const Schedule& schedule);

// Writes everything out. The packing, of pack_buffers(), lies above `base`; slots lie in the file
// above `file_base`. `offsets` places the persistent values that are in the arena.
Plan assemble(const Model& model,
              const Schedule& schedule,
              const Packing& packing,
              const core::IdVector<ValueId, Bytes>& offsets,
              const FileOffsets& file_offsets,
              Bytes base,
              Bytes file_base);

}  // namespace lowtide::plan
