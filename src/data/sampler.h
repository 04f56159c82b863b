// Sampler: which samples make up each batch of each epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::data {

struct ShuffleOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool drop_last = false;  // leave out the last batch of an epoch when it is short
};

// An epoch's order is a pure function of (seed, epoch), so any batch can be asked for at any time.
// Holds one permutation: 4 bytes a sample (8 from 2^32 samples on), none when not shuffling.
class Sampler {
 public:
  // Throws Error(kInvalidArgument) when there are no samples, the batch is not positive, or every
  // batch would be dropped.
  Sampler(std::int64_t samples, std::int64_t batch, const ShuffleOptions& options);

  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::int64_t batch_size() const { return batch_; }  // of all but a short last one
  [[nodiscard]] std::int64_t batches_per_epoch() const { return batches_; }

  // The samples of one batch, valid until the next call. Turning to another epoch takes time in
  // proportion to the samples; no call allocates.
  std::span<const std::int64_t> batch(std::int64_t epoch, std::int64_t index);

  // What it holds on the heap.
  [[nodiscard]] Bytes bytes() const;

 private:
  void shuffle_for(std::int64_t epoch);

  std::int64_t samples_;
  std::int64_t batch_;
  std::int64_t batches_;
  ShuffleOptions options_;
  std::optional<std::int64_t> epoch_;      // which one the order below is of
  std::vector<std::uint32_t> order_;       // used when every index fits
  std::vector<std::uint64_t> wide_order_;  // else this one
  std::vector<std::int64_t> indices_;
};

}  // namespace lowtide::data
