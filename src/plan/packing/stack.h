// Stack: placed items in the order of their offsets, and the lowest gap between them for another
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

class Stack {
 public:
  void insert(const Item& item, std::int64_t offset);

  // The lowest offset at which the item shares no byte with another one during its life.
  [[nodiscard]] std::int64_t lowest_gap(const Item& item) const;

 private:
  struct Placed {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
  };

  // Neighbours in the order, with what is common to them: of a deep network's saved activations,
  // most blocks are in use at a time as a whole or not at all.
  struct Block {
    std::vector<Placed> items;
    std::int32_t least_first = 0;
    std::int32_t most_first = 0;
    std::int32_t least_last = 0;
    std::int32_t most_last = 0;
    std::int64_t end = 0;
    std::int64_t widest_gap = 0;  // if all were in use together

    [[nodiscard]] bool none_meets(const Item& item) const {
      return least_first > item.last || most_last < item.first;
    }
    [[nodiscard]] bool all_meet(const Item& item) const {
      return most_first <= item.last && least_last >= item.first;
    }
    void summarise();
  };

  [[nodiscard]] Block& block_of(std::int64_t offset);

  std::vector<Block> blocks_;
};

}  // namespace lowtide::plan
