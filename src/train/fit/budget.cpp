#include "train/fit/budget.h"

#include <malloc.h>

#include <algorithm>

#include "core/cgroup.h"
#include "core/text.h"
#include "memory/resident.h"

namespace lowtide::train {
namespace {

constexpr Bytes kUnit = Bytes(1024 * 1024);
// Pages of code and data that files back come and go with the page cache; this much above the
// resident size measured before the first step has been enough on every machine. Programs are bound
// later as well.
constexpr Bytes kStillToCome = Bytes(3 * 512 * 1024);  // 1.5 MiB
constexpr Bytes kStillToComePerNode = Bytes(1024);

}  // namespace

// Least squares over the resident bytes of seventeen networks of 34 to 2,500 nodes, on both
// instruction sets and 1 to 8 threads: 26.5 MiB, 3.5 KiB a node, and what the primitives take as
// below; up to 2.5 MiB off either way, or 3.5 where convolutions are lowered. Rounded up by as
// much, so that what is measured is seldom more.
Bytes runtime_allowance(const RuntimeNeeds& needs) {
  constexpr Bytes kProcess = Bytes(30 * 1024 * 1024);
  constexpr Bytes kPerNode = Bytes(4 * 1024);
  constexpr Bytes kPerThread = Bytes(64 * 1024);
  Bytes sum = kProcess + static_cast<std::int64_t>(needs.nodes) * kPerNode +
              needs.threads * kPerThread + needs.buffers;
  const auto library = [&](std::int64_t primitives, Bytes once, Bytes each) {
    if (primitives > 0) sum += once + primitives * each;
  };
  library(needs.primitives.products, Bytes(512 * 1024), Bytes(256 * 1024));
  library(needs.primitives.lowered, Bytes(3 * 1024 * 1024), Bytes(0));
  library(needs.primitives.lowered + needs.primitives.others, Bytes(9 * 512 * 1024),
          Bytes(32 * 1024));
  return sum.rounded_up(kUnit);
}

Bytes settle_runtime(const RuntimeNeeds& needs) {
  malloc_trim(0);
  const Bytes measured = memory::resident_bytes() + kStillToCome +
                         static_cast<std::int64_t>(needs.nodes) * kStillToComePerNode;
  return std::max(runtime_allowance(needs), measured.rounded_up(kUnit));
}

Bytes smallest_budget(Bytes runtime, Bytes arena) { return (runtime + arena).rounded_up(kUnit); }

Bytes settle_budget(const std::optional<Bytes>& asked) {
  return asked ? *asked : memory::memory_limit();
}

std::string budget_warning(Bytes budget) {
  const core::CgroupLimits limits = core::read_cgroup_limits();
  if (!limits.memory || budget <= *limits.memory) return {};
  return core::text(
      "the budget of {} is above the limit of {} that {} sets: the system may end the run",
      budget.str(), limits.memory->str(), limits.memory_from.string());
}

}  // namespace lowtide::train
