// Puzzles: items whose best packing is known, and a second look at packings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

Item item(std::int64_t size, std::int32_t first, std::int32_t last);

// What is wrong with a packing of that height; empty if nothing is.
std::string faults(std::span<const Item> items, std::span<const Bytes> offsets, Bytes height);

// A rectangle of 1000 times and `bytes` bytes cut into about that many pieces: packed at capacity,
// they leave no byte free.
std::vector<Item> puzzle(std::uint64_t seed, std::int64_t bytes, std::size_t pieces);

}  // namespace lowtide::plan
