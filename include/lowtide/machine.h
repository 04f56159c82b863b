// What this machine offers a run, and what it forbids.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lowtide/bytes.h"
#include "lowtide/plan.h"

namespace lowtide {

struct MachineReport {
  std::string isa;        // the best instruction set that is used here: avx512, avx2, reference
  int affinity_cpus = 0;  // that this process may run on
  std::optional<double> quota_cpus;   // of the tightest control group, in CPUs
  std::string quota_from;             // its file
  int threads = 0;                    // that a run takes by default: the lesser of the two
  Bytes memory_available;             // what the machine could hand out now
  std::optional<Bytes> memory_limit;  // of the tightest control group
  std::string memory_limit_from;      // its file
  Bytes budget;                       // what `--budget auto` means: the limit, else what is free
  std::optional<SpillRates> spill;    // of the folder asked about
  Bytes spill_free;                   // in it
  std::vector<std::pair<std::string, std::string>> versions;  // of Lowtide and its libraries
};

// Looks; writes nothing but, where a folder is given, a nameless file in it for a moment, to
// measure its disk. Throws Error(kIo) where that cannot be.
MachineReport examine_machine(const std::filesystem::path& spill = {});

}  // namespace lowtide
