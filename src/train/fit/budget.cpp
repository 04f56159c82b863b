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
constexpr Bytes kStillToCome = Bytes(2 * 1024 * 1024);
constexpr Bytes kStillToComePerNode = Bytes(1024);

}  // namespace

Bytes runtime_allowance(const RuntimeNeeds& needs) {
  constexpr Bytes kProcess = Bytes(32 * 1024 * 1024);
  constexpr Bytes kPerKernel = Bytes(64 * 1024);
  constexpr Bytes kPerNode = Bytes(2 * 1024);
  // What planning and writing the model hold and leave behind, measured on 2,600 to 12,000 nodes as
  // 4 to 10 KiB a node, goes unnoticed in the fixed share while nodes are few. Where they are very
  // many, it is over before the arena is as large, and what is left of it is measured.
  constexpr std::size_t kFewNodes = 1000;
  constexpr std::size_t kManyNodes = 9000;
  constexpr Bytes kPerFurtherNode = Bytes(8 * 1024);
  constexpr Bytes kPerThread = Bytes(256 * 1024);
  const std::size_t further = std::clamp(needs.nodes, kFewNodes, kManyNodes) - kFewNodes;
  const Bytes sum = kProcess + static_cast<std::int64_t>(needs.kernels) * kPerKernel +
                    static_cast<std::int64_t>(needs.nodes) * kPerNode +
                    static_cast<std::int64_t>(further) * kPerFurtherNode +
                    needs.threads * kPerThread + needs.buffers;
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
