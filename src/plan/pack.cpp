#include "plan/pack.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/random.h"

namespace lowtide::plan {

namespace {

using Order = std::vector<std::uint32_t>;

enum class Fit : std::uint8_t { kFirst, kBest };

std::int32_t horizon(std::span<const Item> items) {
  std::int32_t last = 0;
  for (const Item& item : items) last = std::max(last, item.last);
  return last;
}

// Bytes in use at each time.
std::vector<std::int64_t> live_bytes(std::span<const Item> items) {
  std::vector<std::int64_t> live(static_cast<std::size_t>(horizon(items)) + 2, 0);
  for (const Item& item : items) {
    live[static_cast<std::size_t>(item.first)] += item.size.count();
    live[static_cast<std::size_t>(item.last) + 1] -= item.size.count();
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  return live;
}

// Places items one after another: each at the lowest (or tightest) gap that no item placed before
// it and alive at the same time reaches into. Placed items stand sorted by offset, as columns, so
// that a scan from the bottom meets the gaps in order.
class Placer {
 public:
  explicit Placer(std::span<const Item> items) : items_(items), offsets_(items.size()) {
    for (std::vector<std::int32_t>* column : {&first_, &last_}) column->reserve(items.size());
    for (std::vector<std::int64_t>* column : {&begin_, &end_}) column->reserve(items.size());
  }

  // The height reached; stops as soon as it would reach `limit`.
  std::int64_t place(const Order& order, Fit fit, std::int64_t limit) {
    first_.clear();
    last_.clear();
    begin_.clear();
    end_.clear();
    std::int64_t height = 0;
    for (const std::uint32_t index : order) {
      const Item& item = items_[index];
      const std::int64_t offset = find_gap(item, fit);
      offsets_[index] = Bytes(offset);
      height = std::max(height, offset + item.size.count());
      if (height >= limit) return height;
      insert(item, offset);
    }
    return height;
  }

  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  std::int64_t find_gap(const Item& item, Fit fit) {
    const std::int64_t size = item.size.count();
    std::int64_t top = 0;  // end of the items seen so far that live at the same time
    std::int64_t best = -1;
    std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
    std::size_t i = 0;
    for (; i < begin_.size(); ++i) {
      if (first_[i] > item.last || last_[i] < item.first) continue;
      const std::int64_t gap = begin_[i] - top;
      if (gap >= size && gap < best_gap) {
        best = top;
        best_gap = gap;
        if (fit == Fit::kFirst) break;
      }
      top = std::max(top, end_[i]);
    }
    work_ += static_cast<std::int64_t>(i);
    return best < 0 ? top : best;
  }

  void insert(const Item& item, std::int64_t offset) {
    const auto at = std::upper_bound(begin_.begin(), begin_.end(), offset) - begin_.begin();
    begin_.insert(begin_.begin() + at, offset);
    end_.insert(end_.begin() + at, offset + item.size.count());
    first_.insert(first_.begin() + at, item.first);
    last_.insert(last_.begin() + at, item.last);
  }

  std::span<const Item> items_;
  std::vector<Bytes> offsets_;
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> last_;
  std::vector<std::int64_t> begin_;
  std::vector<std::int64_t> end_;
  std::int64_t work_ = 0;
};

// The most bytes in use at one time during each item's life.
std::vector<std::int64_t> pressures(std::span<const Item> items) {
  // A sparse table over time: row k holds the maxima of stretches of 2^k.
  std::vector<std::vector<std::int64_t>> table = {live_bytes(items)};
  for (std::size_t half = 1; 2 * half <= table[0].size(); half *= 2) {
    const std::vector<std::int64_t>& row = table.back();
    std::vector<std::int64_t> next(row.size() - half);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = std::max(row[i], row[i + half]);
    table.push_back(std::move(next));
  }
  std::vector<std::int64_t> result;
  for (const Item& item : items) {
    const auto length = static_cast<std::size_t>(item.last - item.first) + 1;
    const auto row = static_cast<std::size_t>(std::bit_width(length)) - 1;
    const auto first = static_cast<std::size_t>(item.first);
    result.push_back(
        std::max(table[row][first], table[row][first + length - (std::size_t{1} << row)]));
  }
  return result;
}

// Orders in which placing works well: big or long-lived items first leave the small ones to fill
// gaps; items alive when most bytes are in use have no slack and go before others; what outlives a
// quarter of the program goes down in order of birth, as the saved activations of a network want.
std::vector<Order> greedy_orders(std::span<const Item> items) {
  Order order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto life = [&](std::uint32_t i) {
    return static_cast<std::int64_t>(items[i].last) - items[i].first + 1;
  };
  const auto sorted = [&](auto before) {
    Order result = order;
    std::stable_sort(result.begin(), result.end(), before);
    return result;
  };
  const auto by_size = [&](std::uint32_t a, std::uint32_t b) {
    return items[a].size != items[b].size ? items[a].size > items[b].size : life(a) > life(b);
  };
  const std::int64_t long_life = horizon(items) / 4;
  const std::vector<std::int64_t> pressure = pressures(items);
  return {
      sorted([&](std::uint32_t a, std::uint32_t b) {
        return pressure[a] != pressure[b] ? pressure[a] > pressure[b] : life(a) > life(b);
      }),
      sorted([&](std::uint32_t a, std::uint32_t b) {
        return pressure[a] != pressure[b] ? pressure[a] > pressure[b] : by_size(a, b);
      }),
      sorted([&](std::uint32_t a, std::uint32_t b) { return life(a) > life(b); }),
      sorted(by_size),
      sorted([&](std::uint32_t a, std::uint32_t b) {
        return static_cast<double>(life(a)) * static_cast<double>(items[a].size.count()) >
               static_cast<double>(life(b)) * static_cast<double>(items[b].size.count());
      }),
      sorted([&](std::uint32_t a, std::uint32_t b) {
        const bool a_long = life(a) > long_life;
        const bool b_long = life(b) > long_life;
        if (a_long != b_long) return a_long;
        return a_long ? items[a].first < items[b].first : by_size(a, b);
      }),
      sorted([&](std::uint32_t a, std::uint32_t b) { return items[a].first < items[b].first; }),
  };
}

// The best packing so far and the order it came from.
struct Incumbent {
  Order order;
  Fit fit = Fit::kFirst;
  std::vector<Bytes> offsets;
  std::int64_t height = std::numeric_limits<std::int64_t>::max();
};

// Keeps what the order gives unless it is higher: moves sideways lead out of dead ends. True if
// it is lower.
bool attempt(Placer& placer, const Order& order, Fit fit, Incumbent& best) {
  const std::int64_t before = best.height;
  const std::int64_t limit = best.offsets.empty() ? before : before + 1;
  const std::int64_t height = placer.place(order, fit, limit);
  if (height >= limit) return false;
  best = {order, fit, placer.offsets(), height};
  return height < before;
}

// Moves one item that reaches the top earlier in the order, and keeps what is not higher. After
// some moves in vain it moves a random one besides.
void perturb(std::span<const Item> items,
             Placer& placer,
             Incumbent& best,
             std::int64_t bound,
             std::int64_t work) {
  constexpr int kPatience = 5000;
  core::RandomStream random(0x10C, items.size());
  int vain = 0;
  while (best.height > bound && placer.work() < work && vain < kPatience) {
    Order order = best.order;
    for (int moves = vain > 64 ? 2 : 1; moves > 0; --moves) {
      std::size_t from = random.below(order.size());
      if (moves == 1) {
        for (std::size_t i = 0; i < order.size(); ++i) {
          const std::uint32_t index = order[(from + i) % order.size()];
          if ((best.offsets[index] + items[index].size).count() == best.height) {
            from = (from + i) % order.size();
            break;
          }
        }
      }
      const std::size_t to = random.below(from + 1);
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to),
                  order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    }
    vain = attempt(placer, order, best.fit, best) ? 0 : vain + 1;
  }
}

}  // namespace

Bytes max_live(std::span<const Item> items) {
  const std::vector<std::int64_t> live = live_bytes(items);
  return Bytes(*std::max_element(live.begin(), live.end()));
}

Packing pack(std::span<const Item> items, std::int64_t work) {
  std::vector<Bytes> offsets(items.size());
  std::vector<Item> solid;  // items of no bytes lie anywhere: at 0
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < items.size(); ++i) {
    LT_CHECK(items[i].first >= 0 && items[i].first <= items[i].last, "a lifetime runs forward");
    if (items[i].size <= Bytes(0)) continue;
    solid.push_back(items[i]);
    where.push_back(i);
  }
  if (solid.empty()) return {std::move(offsets), Bytes(0)};

  const std::int64_t bound = max_live(solid).count();
  Placer placer(solid);
  Incumbent best;
  for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
    for (const Order& order : greedy_orders(solid)) {
      if (best.height > bound && (best.offsets.empty() || placer.work() <= work)) {
        attempt(placer, order, fit, best);
      }
    }
  }
  perturb(solid, placer, best, bound, placer.work() + work);
  for (std::size_t i = 0; i < solid.size(); ++i) offsets[where[i]] = best.offsets[i];
  return {std::move(offsets), Bytes(best.height)};
}

}  // namespace lowtide::plan
