// Local search over the orders of preference that dives follow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

struct Found {
  std::vector<std::int64_t> offsets;  // one per item
  std::int64_t height = 0;
};

// The lowest packing found before it reaches max_live() or the work is spent, both counted as in
// pack(). Items have bytes.
Found search_packings(std::span<const Item> items, std::int64_t work);

}  // namespace lowtide::plan
