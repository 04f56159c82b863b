// Policy: which planner decides.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lowtide::plan {

// The named policies. All lossless; later ones join here.
enum class Policy : std::uint8_t {
  kLowtide,  // the least time that fits, over the planner's candidates
  kKeep,     // every activation stays until its last reader
  kChen,     // square-root segments (Chen et al. 2016): keep segment borders, recompute the rest
  // What other systems do: plan/baseline/baseline.h.
  kNoBn,
  kResidual1,
  kResidual2,
  kSuperNeurons,
  kDtr,
};

std::span<const Policy> all_policies();
std::string_view name(Policy policy);
Policy parse_policy(std::string_view text);  // throws Error(kInvalidArgument) listing the names

}  // namespace lowtide::plan
