#include "plan/packing/dive/waiting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lowtide::plan {

namespace {

std::uint32_t small(std::size_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace

// In strips by the first sections, and within a strip by the last ones.
Waiting::Waiting(std::span<const Span> spans, std::span<const std::int64_t> sizes)
    : places_(spans.size()) {
  std::vector<std::uint32_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return spans[a].first < spans[b].first;
  });
  const double groups = static_cast<double>(spans.size()) / kGroup;
  const auto strip = static_cast<std::ptrdiff_t>(kGroup * std::ceil(std::sqrt(groups)));
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = begin + std::min(strip, order.end() - begin);
    std::stable_sort(begin, end, [&](std::uint32_t a, std::uint32_t b) {
      return spans[a].last < spans[b].last;
    });
    begin = end;
  }
  for (const std::uint32_t item : order) {
    places_[item] = small(all_.size());
    all_.push_back(
        {.size = sizes[item], .first = small(spans[item].first), .last = small(spans[item].last)});
  }
}

void Waiting::start(std::span<const std::uint32_t> order) {
  waiting_ = order.size();
  counts_.assign(waiting_ + 1, 0);
  for (std::size_t i = 1; i < counts_.size(); ++i) counts_[i] = small(i & (~i + 1));
  for (std::size_t rank = 0; rank < waiting_; ++rank) {
    all_[places_[order[rank]]].rank = small(rank);
  }
  slots_ = all_;
  slots_of_.resize(waiting_);
  form_groups();
}

// Of the slots, all in use.
void Waiting::form_groups() {
  groups_.assign((slots_.size() + kGroup - 1) / kGroup, {});
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_of_[slots_[i].rank] = small(i);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g].count = small(std::min(kGroup, slots_.size() - g * kGroup));
    settle(g);
  }
}

// Looks at each of a group's slots.
void Waiting::settle(std::size_t group) {
  const std::int64_t floor = groups_[group].floor;
  Group now{.count = groups_[group].count,
            .first_rank = UINT32_MAX,
            .least_first = UINT32_MAX,
            .least_last = UINT32_MAX,
            .least_size = INT64_MAX,
            .least_offset = INT64_MAX,
            .least_end = INT64_MAX};
  for (std::size_t i = 0; i < now.count; ++i) {
    Slot& slot = slots_[group * kGroup + i];
    slot.offset = std::max(slot.offset, floor);
    now.first_rank = std::min(now.first_rank, slot.rank);
    now.least_first = std::min(now.least_first, slot.first);
    now.most_first = std::max(now.most_first, slot.first);
    now.least_last = std::min(now.least_last, slot.last);
    now.most_last = std::max(now.most_last, slot.last);
    now.least_size = std::min(now.least_size, slot.size);
    now.least_offset = std::min(now.least_offset, slot.offset);
    now.most_offset = std::max(now.most_offset, slot.offset);
    now.least_end = std::min(now.least_end, slot.offset + slot.size);
  }
  groups_[group] = now;
}

std::int64_t Waiting::lowest_end() const {
  std::int64_t lowest = INT64_MAX;
  for (const Group& group : groups_) lowest = std::min(lowest, group.least_end);
  return lowest;
}

std::size_t Waiting::first_below(std::int64_t offset) const {
  std::uint32_t first = UINT32_MAX;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    if (group.least_offset >= offset || group.first_rank >= first) continue;
    if (group.most_offset < offset) {
      first = group.first_rank;
      continue;
    }
    for (const Slot& slot : slots(g)) {
      if (std::max(slot.offset, group.floor) < offset) first = std::min(first, slot.rank);
    }
  }
  return first == UINT32_MAX ? SIZE_MAX : first;
}

std::vector<std::size_t> Waiting::all_below(std::int64_t offset) const {
  std::vector<std::size_t> ranks;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].least_offset >= offset) continue;
    for (const Slot& slot : slots(g)) {
      if (std::max(slot.offset, groups_[g].floor) < offset) ranks.push_back(slot.rank);
    }
  }
  return ranks;
}

std::size_t Waiting::before(std::size_t rank) const {
  std::size_t count = 0;
  for (std::size_t i = rank; i > 0; i &= i - 1) count += counts_[i];
  return count;
}

std::int64_t Waiting::offset(std::size_t rank) const {
  const std::size_t slot = slots_of_[rank];
  return std::max(slots_[slot].offset, groups_[slot / kGroup].floor);
}

void Waiting::place(std::size_t rank) {
  const std::size_t at = slots_of_[rank];
  Slot placed = slots_[at];
  placed.offset = offset(rank);
  const std::size_t mine = at / kGroup;
  const std::size_t last = mine * kGroup + --groups_[mine].count;
  slots_[at] = slots_[last];
  slots_of_[slots_[at].rank] = small(at);
  settle(mine);
  for (std::size_t i = rank + 1; i < counts_.size(); i += i & (~i + 1)) --counts_[i];
  --waiting_;
  for (std::size_t g = 0; g < groups_.size(); ++g) lift(g, placed);
  if (2 * waiting_ > slots_.size()) return;
  std::vector<Slot> rest;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    settle(g);
    rest.insert(rest.end(), slots(g).begin(), slots(g).end());
  }
  slots_ = std::move(rest);
  form_groups();
}

void Waiting::lift(std::size_t group, const Slot& placed) {
  Group& it = groups_[group];
  const std::int64_t top = placed.offset + placed.size;
  if (it.least_first > placed.last || it.most_last < placed.first) return;
  if (it.least_offset >= top) return;
  if (it.most_offset > top || it.most_first > placed.last || it.least_last < placed.first) {
    lift_slots(group, placed);
    return;
  }
  it.floor = it.least_offset = it.most_offset = top;
  it.least_end = top + it.least_size;
}

void Waiting::lift_slots(std::size_t group, const Slot& placed) {
  Group& it = groups_[group];
  const std::int64_t top = placed.offset + placed.size;
  it.least_offset = it.least_end = INT64_MAX;
  it.most_offset = 0;
  for (std::size_t i = 0; i < it.count; ++i) {
    Slot& slot = slots_[group * kGroup + i];
    const bool meets = slot.first <= placed.last && placed.first <= slot.last;
    slot.offset = std::max({slot.offset, it.floor, meets ? top : 0});
    it.least_offset = std::min(it.least_offset, slot.offset);
    it.most_offset = std::max(it.most_offset, slot.offset);
    it.least_end = std::min(it.least_end, slot.offset + slot.size);
  }
  it.floor = 0;
}

}  // namespace lowtide::plan
