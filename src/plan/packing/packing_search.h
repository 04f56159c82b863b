// The search for low packings: dives in several orders, all ways where the items are few, and then
// the wheel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/packing/item.h"
#include "plan/packing/pack.h"

namespace lowtide::plan {

// Where items lie, and how high what is made of that reaches.
struct Found {
  std::vector<std::int64_t> offsets;  // one per item
  std::int64_t height = 0;
};

// The height of all, given where these items lie whose own height is no more.
using Completion = std::function<std::int64_t(const std::vector<std::int64_t>& offsets)>;

// The lowest that was found before these items reach their max_live() or the work is spent, counted
// as in pack(). Items have bytes.
Found search_packings(std::span<const Item> items, const PackingAim& aim, const Completion& all);

}  // namespace lowtide::plan
