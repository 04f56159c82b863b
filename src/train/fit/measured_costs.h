// Measured costs: what each kernel of a configuration takes, by running it, or from a cache of
// earlier runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/arena.h"
#include "run/cost_cache.h"
#include "train/fit/configuration.h"

namespace lowtide::train {

// Where cached costs of a machine and this version of the library begin: processor, threads,
// instruction set, versions.
std::string cost_scope(const core::Machine& machine);

// The costs of all units with the cache's seconds, or nothing where it lacks some.
std::optional<std::vector<plan::Costs>> cached_costs(const Configuration& configuration,
                                                     const std::string& scope,
                                                     const run::CostCache& cache);

struct Measurement {
  std::vector<plan::Costs> costs;  // by unit
  std::size_t kernels = 0;         // that there are to measure
  std::size_t measured = 0;        // in the time given
  run::KernelSeconds seconds;      // by key, for the cache
};

// Runs a planned configuration's programs in an arena of at least its size until each kernel has
// run a few times or the seconds are spent. The state is loaded as for training, inputs are drawn;
// afterwards the arena and the spill file hold rubbish. What was not reached in time gets the
// model's seconds, scaled as those that were. Every program is walked at least once.
Measurement measure_costs(Configuration& configuration,
                          memory::Arena& arena,
                          memory::SpillStore* file,
                          double seconds,
                          const std::string& scope);

}  // namespace lowtide::train
