// Whether a thread is inside oneDNN, for checks that tell its allocations from ours.
#pragma once

namespace lowtide::kernels {

// True while this thread executes a oneDNN primitive. The library allocates small tables in each
// execution; a check that our own code allocates nothing leaves those out.
bool inside_library();

}  // namespace lowtide::kernels
