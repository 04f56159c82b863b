// What the machine can do at best: the rates that a trace compares kernels with.
#pragma once

#include <cstddef>
#include <span>

namespace lowtide::kernels {

// Float32 operations a second of independent multiply-adds in registers on all threads, each
// counted as two. Takes a few milliseconds.
double peak_flops_per_second();

// Bytes a second of reading `memory` in order on all threads, the best of a few times. Memory that
// fits into a cache gives the cache's rate. 0 for no memory.
double peak_bytes_per_second(std::span<const std::byte> memory);

}  // namespace lowtide::kernels
