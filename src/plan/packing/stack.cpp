#include "plan/packing/stack.h"

#include <algorithm>

namespace lowtide::plan {

namespace {

constexpr std::size_t kMostInBlock = 128;

}  // namespace

void Stack::Block::summarise() {
  const Placed& front = items.front();
  least_first = most_first = front.first;
  least_last = most_last = front.last;
  end = front.end;
  widest_gap = 0;
  for (const Placed& one : items) {
    least_first = std::min(least_first, one.first);
    most_first = std::max(most_first, one.first);
    least_last = std::min(least_last, one.last);
    most_last = std::max(most_last, one.last);
    widest_gap = std::max(widest_gap, one.begin - end);
    end = std::max(end, one.end);
  }
}

Stack::Block& Stack::block_of(std::int64_t offset) {
  if (blocks_.empty()) return blocks_.emplace_back();
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), offset,
      [](std::int64_t at, const Block& block) { return at < block.items.front().begin; });
  return after == blocks_.begin() ? *after : *(after - 1);
}

void Stack::insert(const Item& item, std::int64_t offset) {
  Block& block = block_of(offset);
  const auto at =
      std::upper_bound(block.items.begin(), block.items.end(), offset,
                       [](std::int64_t begin, const Placed& other) { return begin < other.begin; });
  block.items.insert(at, {offset, offset + item.size.count(), item.first, item.last});
  if (block.items.size() > kMostInBlock) {
    const auto half = block.items.begin() + kMostInBlock / 2;
    Block upper{.items = {half, block.items.end()}};
    upper.summarise();
    block.items.erase(half, block.items.end());
    block.summarise();
    blocks_.insert(blocks_.begin() + (&block - blocks_.data()) + 1, std::move(upper));
    return;
  }
  block.summarise();
}

std::int64_t Stack::lowest_gap(const Item& item) const {
  const std::int64_t size = item.size.count();
  std::int64_t top = 0;  // end of the items seen so far that live at the same time
  for (const Block& block : blocks_) {
    if (block.none_meets(item)) continue;
    if (block.all_meet(item) && block.widest_gap < size) {
      if (block.items.front().begin - top >= size) return top;
      top = std::max(top, block.end);
      continue;
    }
    for (const Placed& one : block.items) {
      if (one.first > item.last || one.last < item.first) continue;
      if (one.begin - top >= size) return top;
      top = std::max(top, one.end);
    }
  }
  return top;
}

}  // namespace lowtide::plan
