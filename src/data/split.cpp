#include "data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "core/text.h"

namespace lowtide::data {
namespace {

// Of the generator; shuffling uses the streams of small numbers.
constexpr std::uint64_t kSplitStream = std::uint64_t{1} << 63U;

}  // namespace

Subset::Subset(std::shared_ptr<const Dataset> whole, std::vector<std::int64_t> chosen)
    : Dataset(whole->name(),
              static_cast<std::int64_t>(chosen.size()),
              {whole->fields().begin(), whole->fields().end()}),
      whole_(std::move(whole)),
      chosen_(std::move(chosen)) {
  class_names_.assign(whole_->class_names().begin(), whole_->class_names().end());
  columns_.assign(whole_->columns().begin(), whole_->columns().end());
}

Bytes Subset::held() const {
  return whole_->held() + Bytes(static_cast<std::int64_t>(chosen_.size() * sizeof(std::int64_t)));
}

// A few samples at a time, so that their numbers need no heap.
template <class Read>
void Subset::read_chosen(std::size_t field,
                         std::span<const std::int64_t> samples,
                         std::span<std::byte> out,
                         Read&& read) const {
  const auto width = static_cast<std::size_t>(fields()[field].sample_bytes().count());
  LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
  std::array<std::int64_t, 256> numbers = {};
  while (!samples.empty()) {
    const std::size_t count = std::min(samples.size(), numbers.size());
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = chosen_[static_cast<std::size_t>(samples[i])];
    }
    read(std::span<const std::int64_t>(numbers).first(count), out.first(count * width));
    samples = samples.subspan(count);
    out = out.subspan(count * width);
  }
}

void Subset::read(std::size_t field,
                  std::span<const std::int64_t> samples,
                  std::span<std::byte> out) const {
  read_chosen(field, samples, out, [&](std::span<const std::int64_t> numbers, auto part) {
    whole_->read(field, numbers, part);
  });
}

void Subset::read_in_epoch(std::size_t field,
                           std::span<const std::int64_t> samples,
                           std::int64_t epoch,
                           std::span<std::byte> out) const {
  read_chosen(field, samples, out, [&](std::span<const std::int64_t> numbers, auto part) {
    whole_->read_in_epoch(field, numbers, epoch, part);
  });
}

std::int64_t held_back(const std::string& name, std::int64_t samples, double share) {
  if (!(share > 0 && share < 1)) {
    throw core::fail(ErrorCode::kInvalidArgument, "--val-split must lie between 0 and 1, not {}",
                     share);
  }
  if (samples < 2) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: a single sample cannot be split", name);
  }
  return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(samples)), 1,
                                  samples - 1);
}

Parts split(std::shared_ptr<const Dataset> whole, double share, std::uint64_t seed) {
  const std::int64_t back = held_back(whole->name(), whole->samples(), share);
  std::vector<std::int64_t> order(static_cast<std::size_t>(whole->samples()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  core::RandomStream random(seed, kSplitStream);
  for (std::size_t i = 0; i < static_cast<std::size_t>(back); ++i) {
    std::swap(order[i], order[i + static_cast<std::size_t>(random.below(order.size() - i))]);
  }
  const auto middle = order.begin() + back;
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  return {.training = std::make_shared<Subset>(whole, std::vector(middle, order.end())),
          .validation = std::make_shared<Subset>(whole, std::vector(order.begin(), middle))};
}

}  // namespace lowtide::data
