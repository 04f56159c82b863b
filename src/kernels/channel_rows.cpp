#include "kernels/channel_rows.h"

namespace lowtide::kernels {
namespace {

constexpr std::int64_t kLeastPeriod = 512;  // elements: dozens of vectors for each remainder
constexpr std::int64_t kMostBlocks = 16;
constexpr std::int64_t kPeriodsPerBlock = 32;  // rows summed for each double of scratch

}  // namespace

std::int64_t channel_period(std::int64_t channels) {
  if (channels == 0) return 1;
  return channels * std::max<std::int64_t>((kLeastPeriod + channels - 1) / channels, 1);
}

void repeat_channels(std::span<float> values, std::int64_t channels) {
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t i = step; i < values.size(); ++i) values[i] = values[i - step];
}

ChannelPartition::ChannelPartition(const ChannelRows& x)
    : period(channel_period(x.channels)),
      periods((x.elements() + period - 1) / period),
      blocks(std::clamp<std::int64_t>(periods / kPeriodsPerBlock, 1, kMostBlocks)) {}

std::int64_t channel_sums_scratch(const ChannelRows& x) {
  const ChannelPartition all(x);
  return 2 * all.blocks * all.period;
}

}  // namespace lowtide::kernels
