// A batch in the channels-last order as a matrix, and how its rows are shared among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/parallel.h"

namespace lowtide::kernels {

// A matrix of `rows` x `channels` floats: a batch in the channels-last order, or part of one.
struct ChannelRows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;

  [[nodiscard]] std::int64_t elements() const { return rows * channels; }
};

// Rows are taken several at a time where channels are few, so that vectors are filled: per-channel
// arrays are repeated to channel_period() elements.
std::int64_t channel_period(std::int64_t channels);
void repeat_channels(std::span<float> values, std::int64_t channels);

// Two sums per channel in double precision, over a partition of the rows that depends on nothing
// but the matrix.
struct ChannelSums {
  double* first;   // [channels]
  double* second;  // [channels]
};
// Doubles of scratch that summing needs.
std::int64_t channel_sums_scratch(const ChannelRows& x);

// ---- For kernels

// Stretches of one period, and the blocks of periods that are summed on their own.
struct ChannelPartition {
  explicit ChannelPartition(const ChannelRows& x);

  std::int64_t period;
  std::int64_t periods;
  std::int64_t blocks;
};

inline constexpr std::int64_t kChannelElementsPerThread = 16384;

// Sums block by block into scratch with f(first element, elements, sums of one period), then over
// blocks and repetitions.
template <class F>
void sum_blocks(const ChannelRows& x, const ChannelSums& sums, double* scratch, F&& f) {
  std::fill_n(sums.first, x.channels, 0.0);
  std::fill_n(sums.second, x.channels, 0.0);
  if (x.elements() == 0) return;
  const ChannelPartition all(x);
  core::parallel_for(all.blocks, kChannelElementsPerThread * all.blocks / x.elements() + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t block = begin; block < end; ++block) {
                         double* const own = scratch + block * 2 * all.period;
                         std::fill_n(own, 2 * all.period, 0.0);
                         const std::int64_t from = all.periods * block / all.blocks * all.period;
                         const std::int64_t to = std::min(
                             all.periods * (block + 1) / all.blocks * all.period, x.elements());
                         f(from, to - from, ChannelSums{own, own + all.period});
                       }
                     });
  for (std::int64_t block = 0; block < all.blocks; ++block) {
    const double* const own = scratch + block * 2 * all.period;
    for (std::int64_t at = 0; at < all.period; at += x.channels) {
      for (std::int64_t c = 0; c < x.channels; ++c) {
        sums.first[c] += own[at + c];
        sums.second[c] += own[all.period + at + c];
      }
    }
  }
}

// Calls f(first element, elements) for each stretch of one period.
template <class F>
void for_each_period(const ChannelRows& x, F&& f) {
  if (x.elements() == 0) return;
  const ChannelPartition all(x);
  core::parallel_for(all.periods, kChannelElementsPerThread / all.period + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t at = i * all.period;
                         f(at, std::min(all.period, x.elements() - at));
                       }
                     });
}

}  // namespace lowtide::kernels
