#include "plan/packing/local_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "plan/packing/dive.h"
#include "plan/packing/exact.h"

namespace lowtide::plan {

namespace {

using Order = std::vector<std::uint32_t>;

// How a search begins, and how its dives place.
struct Start {
  double (*weight)(double life, double size) = nullptr;
  bool careful = false;  // whether dives look at what is still to come
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
constexpr std::size_t kStartCount = std::size(kStarts);

// One walk: a weight for each item, and the packing that diving by falling weights gives.
struct Walk {
  std::size_t start = 0;
  std::vector<double> weights;
  Found found;
};

class Searcher {
 public:
  Searcher(std::span<const Item> items, std::int64_t work)
      : items_(items), dive_(items), work_(work), random_(0x10C, items.size()) {}

  Found run() {
    std::vector<Walk> walks;
    for (std::size_t i = 0; i < kStartCount && (i == 0 || going_on()); ++i) {
      walks.push_back(begin(i));
      note(walks.back());
    }
    if (going_on() && items_.size() <= kMostExactly) look_at_all();
    std::stable_sort(walks.begin(), walks.end(),
                     [](const Walk& a, const Walk& b) { return a.found.height < b.found.height; });
    for (std::size_t i = 0; going_on(); ++i) {
      if (i >= walks.size()) walks[i % walks.size()] = begin_anew(walks[i % walks.size()].start);
      go_on(walks[i % walks.size()]);
    }
    return std::move(best_);
  }

 private:
  static constexpr int kPatience = 100;  // dives in vain before another walk has its turn
  static constexpr std::size_t kMostExactly = 500;  // items that an exact search is tried for
  static constexpr std::int64_t kExactly = 50;  // the part of the work that it gets: one in these

  [[nodiscard]] bool going_on() const {
    return best_.height > dive_.bound() && dive_.work() < work_;
  }

  // Where no byte is to spare, chance does not help.
  void look_at_all() {
    ExactAnswer answer = pack_exactly(items_, dive_.bound(), work_ / kExactly);
    if (answer.offsets) best_ = {*std::move(answer.offsets), dive_.bound()};
  }

  Walk begin(std::size_t start) {
    Walk walk{.start = start, .weights = {}, .found = {}};
    for (const Item& item : items_) {
      const double life = static_cast<double>(item.last) - item.first + 1;
      walk.weights.push_back(kStarts[start].weight(life, static_cast<double>(item.size.count())));
    }
    dive(walk, {.capacity = dive_.bound()});
    return walk;
  }

  // The same with all weights a little off.
  Walk begin_anew(std::size_t start) {
    Walk walk = begin(start);
    for (double& weight : walk.weights) weight *= 0.6 + random_.uniform();
    dive(walk, {.capacity = dive_.bound()});
    note(walk);
    return walk;
  }

  // Dives by the walk's weights and keeps the packing unless it reaches aim.stop.
  bool dive(Walk& walk, Dive::Aim aim) {
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return walk.weights[a] != walk.weights[b] ? walk.weights[a] > walk.weights[b] : a < b;
    });
    if (!kStarts[walk.start].careful) aim.capacity = 0;
    const std::int64_t height = dive_.run(order_, aim);
    if (height >= aim.stop) return false;
    walk.found = {dive_.offsets(), height};
    return true;
  }

  void note(const Walk& walk) {
    if (best_.offsets.empty() || walk.found.height < best_.height) best_ = walk.found;
  }

  // Changes the weights of a few items that stand in the way of what reaches the top, and keeps
  // what is not higher: moves sideways lead out of dead ends.
  void go_on(Walk& walk) {
    for (int vain = 0; vain < kPatience && going_on();) {
      changed_.clear();
      const std::uint64_t changes = 1 + random_.below(3);
      for (std::uint64_t i = 0; i < changes; ++i) change(walk);
      const std::int64_t before = walk.found.height;
      if (!dive(walk, {.capacity = before - 1, .stop = before + 1})) undo(walk);
      vain = walk.found.height < before ? 0 : vain + 1;
      note(walk);
    }
  }

  void change(Walk& walk) {
    const std::uint32_t item = any_near(any_on_top(walk.found));
    changed_.emplace_back(item, walk.weights[item]);
    const int exponent = static_cast<int>(random_.below(7)) - 3;
    walk.weights[item] *= std::ldexp(1 + random_.uniform(), exponent);
  }

  void undo(Walk& walk) const {
    for (auto i = changed_.rbegin(); i != changed_.rend(); ++i) walk.weights[i->first] = i->second;
  }

  std::uint32_t any_on_top(const Found& found) {
    std::uint32_t chosen = 0;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (found.offsets[i] + items_[i].size.count() != found.height) continue;
      if (random_.below(++seen) == 0) chosen = static_cast<std::uint32_t>(i);
    }
    return chosen;
  }

  // A large one of a few items that are in use together with this one, itself included.
  std::uint32_t any_near(std::uint32_t one) {
    constexpr int kTries = 60;
    constexpr int kEnough = 5;
    std::uint32_t chosen = one;
    bool found = false;
    for (int i = 0; i < kTries && !(found && i > kEnough); ++i) {
      const auto other = static_cast<std::uint32_t>(random_.below(items_.size()));
      if (!dive_.meet(one, other)) continue;
      if (found && items_[other].size <= items_[chosen].size) continue;
      chosen = other;
      found = true;
    }
    return chosen;
  }

  std::span<const Item> items_;
  Dive dive_;
  std::int64_t work_;
  core::RandomStream random_;
  Order order_;
  std::vector<std::pair<std::uint32_t, double>> changed_;  // items and their weights before
  Found best_;
};

}  // namespace

Found search_packings(std::span<const Item> items, std::int64_t work) {
  LT_CHECK(!items.empty(), "something to pack");
  return Searcher(items, work).run();
}

}  // namespace lowtide::plan
