#include "data/sampler.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "core/text.h"

namespace lowtide::data {
namespace {

// Fisher-Yates from the sorted order, so that no earlier epoch leaves a trace.
template <class T>
void shuffle(std::vector<T>& order, core::RandomStream random) {
  std::iota(order.begin(), order.end(), T{0});
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
  }
}

}  // namespace

Sampler::Sampler(std::int64_t samples, std::int64_t batch, const ShuffleOptions& options)
    : samples_(samples), batch_(batch), batches_(0), options_(options) {
  if (samples < 1) throw core::fail(ErrorCode::kInvalidArgument, "there are no samples to draw");
  if (batch < 1) throw core::fail(ErrorCode::kInvalidArgument, "a batch of {} samples", batch);
  batches_ = samples / batch + (samples % batch != 0 && !options.drop_last ? 1 : 0);
  if (batches_ == 0) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "dropping the short last batch leaves none: {} samples in batches of {}",
                     samples, batch);
  }
  indices_.resize(static_cast<std::size_t>(std::min(samples, batch)));
  if (!options.shuffle) return;
  if (samples - 1 <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    order_.resize(static_cast<std::size_t>(samples));
  } else {
    wide_order_.resize(static_cast<std::size_t>(samples));
  }
}

std::span<const std::int64_t> Sampler::batch(std::int64_t epoch, std::int64_t index) {
  LT_CHECK(epoch >= 0 && index >= 0 && index < batches_, "a batch of the epoch");
  shuffle_for(epoch);
  const std::int64_t first = index * batch_;
  const auto count = static_cast<std::size_t>(std::min(batch_, samples_ - first));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(first) + i;
    indices_[i] = static_cast<std::int64_t>(!order_.empty()        ? order_[place]
                                            : !wide_order_.empty() ? wide_order_[place]
                                                                   : place);
  }
  return std::span(indices_).first(count);
}

void Sampler::shuffle_for(std::int64_t epoch) {
  if (!options_.shuffle || epoch_ == epoch) return;
  const core::RandomStream random(options_.seed, static_cast<std::uint64_t>(epoch));
  shuffle(order_, random);
  shuffle(wide_order_, random);
  epoch_ = epoch;
}

Bytes Sampler::bytes() const {
  const std::size_t count = order_.size() * sizeof(std::uint32_t) +
                            wide_order_.size() * sizeof(std::uint64_t) +
                            indices_.size() * sizeof(std::int64_t);
  return Bytes(static_cast<std::int64_t>(count));
}

}  // namespace lowtide::data
