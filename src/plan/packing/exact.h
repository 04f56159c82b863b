// Exact search for a packing within a capacity: by branching on what comes next where there is the
// least choice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

struct ExactAnswer {
  // Within the capacity; none where there are none, or where the work was spent before.
  std::optional<std::vector<std::int64_t>> offsets;
  bool complete = false;  // whether everything was looked at: then no offsets means that none exist
  std::int64_t work = 0;  // items and sections looked at
};

// Items have bytes. Deterministic.
ExactAnswer pack_exactly(std::span<const Item> items, std::int64_t capacity, std::int64_t work);

}  // namespace lowtide::plan
