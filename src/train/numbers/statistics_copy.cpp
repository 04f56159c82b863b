#include "train/numbers/statistics_copy.h"

namespace lowtide::train {

StatisticsCopy::StatisticsCopy(const StateLayout& state) {
  for (const StateLayout::State& one : state.states()) {
    if (one.role != graph::Role::kStatistic) continue;
    statistics_.push_back(
        {one.entry, std::vector<std::byte>(static_cast<std::size_t>(one.type.bytes().count()))});
  }
}

Bytes StatisticsCopy::memory(const StateLayout& state) {
  return state.bytes(graph::Role::kStatistic);
}

void StatisticsCopy::take(const StateMemory& memory) {
  for (Statistic& one : statistics_) memory.read(one.entry, 0, one.bytes);
}

void StatisticsCopy::put_back(const StateMemory& memory) const {
  for (const Statistic& one : statistics_) memory.write(one.entry, 0, one.bytes);
}

}  // namespace lowtide::train
