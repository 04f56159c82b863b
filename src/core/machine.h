// Machine: how many threads to use and which instruction set. Made once, passed down.
#pragma once

#include <cstdint>
#include <string_view>

namespace lowtide::core {

// Instruction sets a run can be held to. kReference runs the plain reference kernels only.
enum class Isa : std::uint8_t { kReference, kAvx2, kAvx512, kNative };

std::string_view name(Isa isa);
Isa parse_isa(std::string_view text);  // throws Error(kInvalidArgument) listing the names

struct Machine {
  int threads = 1;
  Isa isa = Isa::kNative;

  // The same for the reference kernels.
  [[nodiscard]] Machine on_reference() const {
    return {.threads = threads, .isa = Isa::kReference};
  }
};

// CPUs this process may use: its affinity mask, cut by the tightest cgroup CPU quota (rounded up),
// at least 1. `OMP_NUM_THREADS`-style environment is not read here.
int usable_cpus();

// What the processor offers: kAvx512 (F, BW, DQ, VL), kAvx2 (with FMA) or kReference.
Isa best_isa();

}  // namespace lowtide::core
