// Packing: offsets for buffers whose lifetimes are known, in as few bytes as possible (dynamic
// storage allocation). A pure function; knows nothing of graphs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::plan {

struct Item {
  Bytes size;
  std::int32_t first = 0;  // in use from here
  std::int32_t last = 0;   // to here, included
};

struct Packing {
  std::vector<Bytes> offsets;  // one per item, from 0; multiples of the sizes' common divisor
  Bytes height;                // end of the highest item
};

// The most bytes in use at one time: no packing can be lower.
Bytes max_live(std::span<const Item> items);

// Tries several greedy orders, then perturbs the best one; stops at the lower bound or when the
// work is spent. Deterministic: work is counted in comparisons (about 10^9 a second), not in time.
// One order runs in any case: at most n^2 / 2 comparisons for n items.
Packing pack(std::span<const Item> items, std::int64_t work = 100'000'000);

}  // namespace lowtide::plan
