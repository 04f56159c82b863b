// What the process uses of the machine's memory, and how much it may use.
#pragma once

#include "lowtide/bytes.h"

namespace lowtide::memory {

// The first three read /proc without touching the heap, so measuring does not change what is
// measured. They throw Error(kIo) where the system does not tell.
Bytes resident_bytes();       // resident now: VmRSS
Bytes peak_resident_bytes();  // most ever resident: VmHWM
Bytes available_bytes();      // what the machine could still hand out: MemAvailable

// The tightest memory limit of the process's control groups; without one, available_bytes().
Bytes memory_limit();

}  // namespace lowtide::memory
