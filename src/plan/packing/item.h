// Item: bytes that are in use for a while, the unit of packing.
#pragma once

#include <algorithm>
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

// The most bytes in use at one time: no packing can be lower.
Bytes max_live(std::span<const Item> items);

}  // namespace lowtide::plan
