// The one oneDNN engine and stream of the process, behind functions that name no oneDNN type.
#pragma once

#include "core/machine.h"

namespace lowtide::kernels {

// Sets oneDNN's instruction-set limit. Has an effect only before oneDNN made its first primitive.
void dnnl_hold_to_isa(core::Isa isa);

}  // namespace lowtide::kernels
