// Explain: why a plan does with a tensor or a node what it does, and what dropping would bring.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace lowtide::plan {

// A tensor that lies idle in the arena at the step where the most is in use.
struct IdleTensor {
  ValueId value;
  Bytes bytes;
  bool repeatable = false;   // whether computing it again is allowed
  double again_seconds = 0;  // of that, with what it needs in turn: where its next reader stands
  std::string why;           // why it stays
};

// Of the arena at its peak, largest first, at most `most`. Parameters and optimizer state count:
// what they would give back is theirs if they lived in a spill file.
std::vector<IdleTensor> idle_at_peak(const graph::Graph& graph,
                                     const Costs& costs,
                                     const Plan& plan,
                                     std::size_t most);

// What the plan does with the values and nodes of that name (exact, or a part of a name where
// nothing has it exactly), as lines of text: bytes, from when to when, how often computed, spilled,
// at what cost, and why. Empty where nothing has the name.
std::string explain(const graph::Graph& graph,
                    const Costs& costs,
                    const Plan& plan,
                    std::string_view name);

}  // namespace lowtide::plan
