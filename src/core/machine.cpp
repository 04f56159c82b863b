#include "core/machine.h"

#include <algorithm>
#include <cmath>

#include "core/cgroup.h"
#include "core/text.h"

namespace lowtide::core {

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kReference: return "reference";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kNative: return "native";
  }
  return "unknown";
}

Isa parse_isa(std::string_view text) {
  for (const Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNative}) {
    if (name(isa) == text) return isa;
  }
  throw fail(ErrorCode::kInvalidArgument,
             "'{}' is not an instruction set; choose native, avx512, avx2 or reference", text);
}

int usable_cpus() {
  int cpus = affinity_cpus();
  if (const auto quota = read_cgroup_limits().cpus) {
    cpus = std::min(cpus, static_cast<int>(std::ceil(*quota)));
  }
  return std::max(cpus, 1);
}

Isa best_isa() {
  __builtin_cpu_init();
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (avx512) return Isa::kAvx512;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return avx2 ? Isa::kAvx2 : Isa::kReference;
}

}  // namespace lowtide::core
