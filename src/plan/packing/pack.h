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

// What a packing is to reach. Work is counted in items looked at (about 10^9 a second), not in
// time.
struct PackingAim {
  std::int64_t work = 100'000'000;
  Bytes enough = {};  // a height that will do: little more work goes into a lower one
};

// Places the large items from the bottom up in several orders, looks at all ways for the lower
// bound if the items are few, lets items that come to lie high go earlier, turn by turn, and puts
// the small items into the gaps; stops at the lower bound or when the work is spent. One order runs
// in any case: about n^2 / 2 looks for n items. Deterministic. `enough` only says when to stop:
// where some height is reached for it, it is reached for any larger one.
Packing pack(std::span<const Item> items, const PackingAim& aim = {});

}  // namespace lowtide::plan
