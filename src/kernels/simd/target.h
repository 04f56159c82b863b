// Holds the SIMD kernels (and oneDNN) to an instruction set, for --isa and for tests.
#pragma once

#include "core/machine.h"

namespace lowtide::kernels {

// From now on every kernel of the process runs on this instruction set or a lesser one that the
// processor has. kReference leaves SIMD kernels at the baseline. Call before any kernel is bound;
// oneDNN accepts the limit only before its first primitive, so a later call cannot raise it there.
// Throws Error(kUnsupported) where the processor lacks the instruction set asked for by name.
void hold_to_isa(core::Isa isa);

}  // namespace lowtide::kernels
