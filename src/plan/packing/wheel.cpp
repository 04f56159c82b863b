#include "plan/packing/wheel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/packing/sections.h"

namespace lowtide::plan {

namespace {

// How much more weight an item gets, at least, and what chance may add.
constexpr double kLift = 1.5;
constexpr double kChance = 2;

}  // namespace

Wheel::Wheel(std::span<const Item> items)
    : items_(items),
      random_(0x59EA4, items.size()),
      order_(items.size()),
      ranks_(items.size()),
      offsets_(items.size()) {
  const Sections sections(items);
  const std::vector<std::int64_t>& live = sections.live;
  const auto most = static_cast<double>(*std::max_element(live.begin(), live.end()));
  for (const Span& span : sections.spans) {
    const auto begin = live.begin() + static_cast<std::ptrdiff_t>(span.first);
    const auto end = live.begin() + static_cast<std::ptrdiff_t>(span.last) + 1;
    crowds_.push_back(static_cast<double>(*std::max_element(begin, end)) / most);
  }
  std::iota(order_.begin(), order_.end(), 0U);
  placed_.reserve(items.size());
}

void Wheel::start(int life) {
  weights_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    double weight = static_cast<double>(items_[i].size.count());
    const double steps = static_cast<double>(items_[i].last) - items_[i].first + 1;
    for (int half = 0; half < life; ++half) weight *= std::sqrt(steps);
    const double squared = crowds_[i] * crowds_[i];
    weights_.push_back(weight * squared * squared);
  }
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
  });
  for (std::size_t rank = 0; rank < order_.size(); ++rank) ranks_[order_[rank]] = rank;
  placed_.clear();
  done_ = 0;
}

std::optional<std::int64_t> Wheel::turn(std::int64_t stop, int patience, std::int64_t most) {
  const auto too_high = [&](std::uint32_t item) {
    return offsets_[item] + items_[item].size.count() >= stop;
  };
  // What was low enough before may not be any more.
  const auto placed = order_.begin() + static_cast<std::ptrdiff_t>(done_);
  const auto first = std::find_if(order_.begin(), placed, too_high);
  if (first != placed) lift(static_cast<std::size_t>(first - order_.begin()));
  while (done_ < order_.size()) {
    place(order_[done_]);
    if (!too_high(order_[done_])) {
      ++done_;
      continue;
    }
    if (--patience < 0 || work_ >= most) return std::nullopt;
    lift(done_);
  }
  std::int64_t height = 0;
  for (const Placed& one : placed_) height = std::max(height, one.end);
  return height;
}

// Gives the item at that rank more weight, and takes back what is placed from its new rank on.
void Wheel::lift(std::size_t rank) {
  const std::uint32_t item = order_[rank];
  weights_[item] *= kLift + kChance * random_.uniform();
  std::size_t to = rank;
  for (; to > 0 && weights_[order_[to - 1]] < weights_[item]; --to) {
    order_[to] = order_[to - 1];
    ranks_[order_[to]] = to;
  }
  order_[to] = item;
  ranks_[item] = to;
  done_ = to;
  work_ += static_cast<std::int64_t>(placed_.size());
  std::erase_if(placed_, [&](const Placed& one) { return ranks_[one.item] >= done_; });
}

// At the lowest offset at which the item shares no byte with another one during its life.
void Wheel::place(std::uint32_t id) {
  const Item& item = items_[id];
  std::int64_t top = 0;  // end of the items seen so far that live at the same time
  auto at = placed_.begin();
  for (; at != placed_.end(); ++at) {
    if (at->first > item.last || at->last < item.first) continue;
    if (at->begin - top >= item.size.count()) break;
    top = std::max(top, at->end);
  }
  work_ += at - placed_.begin();
  offsets_[id] = top;
  const auto place = std::upper_bound(
      placed_.begin(), at, top,
      [](std::int64_t offset, const Placed& other) { return offset < other.begin; });
  placed_.insert(place, {top, top + item.size.count(), item.first, item.last, id});
}

}  // namespace lowtide::plan
