// Packing: offsets for buffers whose lifetimes are known, in as few bytes as possible (dynamic
// storage allocation). A pure function; knows nothing of graphs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/bytes.h"

#include "plan/packing/item.h"

namespace lowtide::plan {

struct Packing {
  std::vector<Bytes> offsets;  // one per item, from 0; multiples of the sizes' common divisor
  Bytes height;                // end of the highest item
};

// Places the large items from the bottom up in several orders, looks at all ways for the lower
// bound if the items are few, improves the best orders by local search, and puts the small items
// into the gaps; stops at the lower bound or when the work is spent. Deterministic: work is counted
// in items looked at (about 10^9 a second), not in time. One order runs in any case: about n^2 / 2
// looks for n items.
Packing pack(std::span<const Item> items, std::int64_t work = 100'000'000);

}  // namespace lowtide::plan
