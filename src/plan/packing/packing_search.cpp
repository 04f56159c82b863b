#include "plan/packing/packing_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/check.h"
#include "plan/packing/dive/dive.h"
#include "plan/packing/exact.h"
#include "plan/packing/wheel.h"

namespace lowtide::plan {

namespace {

// How a dive places.
struct Start {
  double (*weight)(double life, double size) = nullptr;
  bool careful = false;  // whether it looks at what is still to come
};

// Items that take much of the plane go first. What leads to the lowest packing is how much length
// counts against size.
constexpr Start kStarts[] = {
    {[](double life, double size) { return life * size; }},
    {[](double life, double size) { return life * size; }, true},
    {[](double life, double size) { return std::sqrt(life) * size; }},
    {[](double life, double size) { return std::sqrt(life) * size; }, true},
    {[](double life, double size) { return life * std::sqrt(life) * size; }},
    {[](double life, double size) { return life * std::sqrt(life) * size; }, true},
};

class Searcher {
 public:
  Searcher(std::span<const Item> items, const PackingAim& aim, const Completion& all)
      : items_(items), dive_(items), aim_(aim), all_(all), bound_(dive_.bound()) {}

  Found run() {
    for (const Start& start : kStarts) {
      if (lowest_ == INT64_MAX || going_on(dive_.work())) dive(start);
    }
    if (going_on(dive_.work()) && items_.size() <= kMostExactly) look_at_all();
    if (going_on(dive_.work())) turn_wheel();
    if (!lowest_offsets_.empty()) complete(lowest_offsets_);
    return std::move(best_);
  }

 private:
  static constexpr std::size_t kMostExactly = 500;  // items that an exact search is tried for
  static constexpr std::int64_t kExactly = 50;  // the part of the work that it gets: one in these
  static constexpr std::int64_t kEnough = 8;    // likewise, of making what is low enough lower
  static constexpr std::int64_t kNear = 400;    // low enough: this part of the bound above it
  static constexpr int kPatience = 3000;        // lifts in vain before the wheel starts anew
  // Work of the wheel in vain before it stops: at first, and for each of what led to the lowest;
  // once that is close to the bound little is to be won.
  static constexpr std::int64_t kFirstTurns = 2'000'000;
  static constexpr std::int64_t kTurnsInVain = 4;
  static constexpr std::int64_t kTurnsWhenClose = 1;
  static constexpr std::int64_t kClose = 100;  // this part of the bound above it

  [[nodiscard]] bool low_enough(std::int64_t height) const {
    return height <= std::max(aim_.enough.count(), bound_ + bound_ / kNear);
  }
  [[nodiscard]] std::int64_t work() const {
    const bool enough = !best_.offsets.empty() && low_enough(best_.height);
    return enough ? aim_.work / kEnough : aim_.work;
  }
  [[nodiscard]] bool going_on(std::int64_t spent) const {
    return lowest_ > bound_ && spent < work();
  }

  void dive(const Start& start) {
    std::vector<double> weights;
    for (const Item& item : items_) {
      const double life = static_cast<double>(item.last) - item.first + 1;
      weights.push_back(start.weight(life, static_cast<double>(item.size.count())));
    }
    std::vector<std::uint32_t> order(items_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
    });
    note(dive_.offsets(), dive_.run(order, {.capacity = start.careful ? bound_ : 0}));
  }

  // Where no byte is to spare, chance does not help.
  void look_at_all() {
    ExactAnswer answer = pack_exactly(items_, bound_, aim_.work / kExactly);
    if (answer.offsets) note(*answer.offsets, bound_);
  }

  void turn_wheel() {
    constexpr int kLives[] = {2, 1, 3};  // halves of the power that life is taken to
    Wheel wheel(items_);
    std::int64_t most = kFirstTurns;
    const auto left = [&] { return std::min(work() - dive_.work(), most) - wheel.work(); };
    for (std::size_t start = 0; lowest_ > bound_ && left() > 0; ++start) {
      wheel.start(kLives[start % std::size(kLives)]);
      while (lowest_ > bound_ && left() > 0) {
        const std::optional<std::int64_t> height =
            wheel.turn(lowest_, kPatience, wheel.work() + left());
        if (!height) break;
        note(wheel.offsets(), *height);
        const bool close = lowest_ <= bound_ + bound_ / kClose;
        most = kFirstTurns + (close ? kTurnsWhenClose : kTurnsInVain) * wheel.work();
      }
    }
  }

  // What is not low enough yet is completed only if nothing lower is found.
  void note(const std::vector<std::int64_t>& offsets, std::int64_t height) {
    if (height >= lowest_) return;
    lowest_ = height;
    lowest_offsets_ = offsets;
    if (low_enough(height)) complete(offsets);
  }

  // The lowest of these items is not always the lowest of all.
  void complete(const std::vector<std::int64_t>& offsets) {
    if (!best_.offsets.empty() && lowest_ >= best_.height) return;
    const std::int64_t whole = all_(offsets);
    if (best_.offsets.empty() || whole < best_.height) best_ = {offsets, whole};
  }

  std::span<const Item> items_;
  Dive dive_;
  const PackingAim& aim_;
  const Completion& all_;
  std::int64_t bound_;               // the most bytes of these items in use at one time
  std::int64_t lowest_ = INT64_MAX;  // of these items
  std::vector<std::int64_t> lowest_offsets_;
  Found best_;
};

}  // namespace

Found search_packings(std::span<const Item> items, const PackingAim& aim, const Completion& all) {
  LT_CHECK(!items.empty(), "something to pack");
  return Searcher(items, aim, all).run();
}

}  // namespace lowtide::plan
