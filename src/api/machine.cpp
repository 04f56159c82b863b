// What the machine offers, gathered from those who ask it in a run.
#include "lowtide/machine.h"

#include "core/cgroup.h"
#include "core/machine.h"
#include "data/versions.h"
#include "kernels/dnnl/engine.h"
#include "memory/resident.h"
#include "memory/spill/store.h"

namespace lowtide {

MachineReport examine_machine(const std::filesystem::path& spill) {
  const core::CgroupLimits limits = core::read_cgroup_limits();
  MachineReport report;
  report.isa = core::name(core::best_isa());
  report.affinity_cpus = core::affinity_cpus();
  report.quota_cpus = limits.cpus;
  report.quota_from = limits.cpus_from.string();
  report.threads = core::usable_cpus();
  report.memory_available = memory::available_bytes();
  report.memory_limit = limits.memory;
  report.memory_limit_from = limits.memory_from.string();
  report.budget = memory::memory_limit();
  report.versions = {{"lowtide", LOWTIDE_VERSION}, {"oneDNN", kernels::dnnl_version()}};
  for (auto& library : data::library_versions()) report.versions.push_back(std::move(library));
  if (!spill.empty()) {
    const memory::SpillRates rates = memory::SpillStore(spill).measure(report.threads);
    report.spill = {rates.store, rates.fetch};
    report.spill_free = Bytes(static_cast<std::int64_t>(std::filesystem::space(spill).available));
  }
  return report;
}

}  // namespace lowtide
