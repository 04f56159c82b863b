// StatisticsCopy: the running statistics before a step, for a step that is refused half-way.
#pragma once

#include <cstddef>
#include <vector>

#include "lowtide/bytes.h"

#include "train/fit/state_layout.h"
#include "train/fit/state_memory.h"

namespace lowtide::train {

// Running statistics move as soon as the statistics of a batch are known, long before the loss is,
// and with micro-batches once for each: what a step that fails has done to them is undone.
class StatisticsCopy {
 public:
  explicit StatisticsCopy(const StateLayout& state);

  // What one holds on the heap.
  static Bytes memory(const StateLayout& state);

  void take(const StateMemory& memory);
  void put_back(const StateMemory& memory) const;

 private:
  struct Statistic {
    std::size_t entry = 0;
    std::vector<std::byte> bytes;
  };

  std::vector<Statistic> statistics_;
};

}  // namespace lowtide::train
