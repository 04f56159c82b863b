#include "plan/packing/exact.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "plan/packing/sections.h"

namespace lowtide::plan {

namespace {

using Items = std::vector<std::uint32_t>;

// Bits that look random, for sums that tell states apart (splitmix64).
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

// What is known of a section of time.
struct Section {
  std::int64_t floor = 0;     // end of what is placed
  std::int64_t rest = 0;      // bytes of what is not placed yet
  std::int32_t crossing = 0;  // items to come that are in use here and in the next section
};

// Of a section in a valley: the items over it that lie within the valley, and the least size of
// those that end before it and of those that begin behind it.
struct Candidates {
  std::size_t valley = 0;  // a number; 0: in none
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t least_before = INT64_MAX;
  std::int64_t least_behind = INT64_MAX;
};

// Where the search goes on, and how.
struct Branch {
  std::size_t section = 0;
  std::size_t valley = 0;
  std::int64_t floor = 0;
  std::int64_t raised = 0;  // the floor if no item rests there
  bool may_raise = false;
  std::int64_t options = INT64_MAX;
};

// Items are pushed down: each rests on the ground or on another one. What is placed makes a skyline
// of floors. A valley is a stretch of sections on one level between higher ones: either an item
// that lies within it rests at its level, or nothing begins below its banks. The search takes a
// section of a valley: one of the items over it rests there, or none does, and then its floor rises
// by what something beside it holds up at least. Slack, the bytes of a section that no item will
// fill, is what this costs. Where no item to come crosses from one section to the next, both sides
// are problems of their own.
class ExactSearch {
 public:
  ExactSearch(std::span<const Item> items, std::int64_t capacity, std::int64_t work)
      : items_(items),
        spans_(Sections(items).spans),
        capacity_(capacity),
        most_work_(work),
        random_(0xE8AC7, items.size()),
        offsets_(items.size(), 0) {
    for (std::uint32_t item = 0; item < items.size(); ++item) {
      sections_.resize(std::max(sections_.size(), span(item).last + 1));
      add(item, 1);
    }
    candidates_.resize(sections_.size());
  }

  // Whether the first choices are good is a matter of luck, and bad ones are paid for dearly:
  // orders of preference have their turns, short ones at first. What has failed is remembered.
  ExactAnswer run() {
    const bool possible = std::all_of(sections_.begin(), sections_.end(),
                                      [&](const Section& s) { return s.rest <= capacity_; });
    ExactAnswer answer{.offsets = std::nullopt, .complete = !possible, .work = 0};
    const Span all{0, sections_.size() - 1};
    const std::vector<Section> empty = saved(all);
    for (std::uint64_t turn = 0; !answer.complete && work_ < most_work_; ++turn) {
      const std::int64_t length = kTurn * static_cast<std::int64_t>(1 + turn / 4);
      turn_ends_ = std::min(work_ + length, most_work_);
      if (solve(all, order(turn))) {
        answer.offsets = std::move(offsets_);
        answer.complete = true;
      } else {
        answer.complete = !spent();
        restore(all, empty);
      }
    }
    answer.work = work_;
    return answer;
  }

 private:
  static constexpr std::size_t kMostFailures = 200'000;
  static constexpr std::int64_t kTurn = 300'000;  // work of the first ones

  struct Part {
    Span within;
    Items items;
  };

  [[nodiscard]] bool spent() const { return work_ >= turn_ends_; }
  [[nodiscard]] std::int64_t size(std::uint32_t item) const { return items_[item].size.count(); }
  [[nodiscard]] const Span& span(std::uint32_t item) const { return spans_[item]; }
  [[nodiscard]] std::int64_t slack(std::size_t s) const {
    return capacity_ - sections_[s].floor - sections_[s].rest;
  }

  // By area, by size, by life; then by area with more and more chance in it.
  Items order(std::uint64_t turn) {
    std::vector<double> weights;
    for (std::uint32_t item = 0; item < items_.size(); ++item) {
      const auto life = static_cast<double>(span(item).last - span(item).first + 1);
      const auto bytes = static_cast<double>(size(item));
      const double weight = turn == 1 ? bytes : turn == 2 ? life : bytes * life;
      weights.push_back(turn < 3 ? weight : weight * (0.2 + random_.uniform()));
    }
    Items order(items_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weights[a] > weights[b]; });
    return order;
  }

  // Among those to come, or (-1) no longer.
  void add(std::uint32_t item, std::int32_t sign) {
    for (std::size_t s = span(item).first; s <= span(item).last; ++s) {
      sections_[s].rest += sign * size(item);
      if (s < span(item).last) sections_[s].crossing += sign;
    }
  }

  void place(std::uint32_t item, std::int64_t floor) {
    offsets_[item] = floor;
    add(item, -1);
    for (std::size_t s = span(item).first; s <= span(item).last; ++s) {
      sections_[s].floor = floor + size(item);
    }
  }

  [[nodiscard]] std::vector<Section> saved(Span within) const {
    return {sections_.begin() + static_cast<std::ptrdiff_t>(within.first),
            sections_.begin() + static_cast<std::ptrdiff_t>(within.last) + 1};
  }

  void restore(Span within, const std::vector<Section>& before) {
    std::copy(before.begin(), before.end(),
              sections_.begin() + static_cast<std::ptrdiff_t>(within.first));
  }

  // Places the items, all that are to come within the sections, in their order of preference; or
  // leaves the sections changed, for the caller to restore.
  bool solve(Span within, const Items& items) {
    work_ += static_cast<std::int64_t>(items.size());
    std::vector<Part> parts = split(within, items);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.items.size() < b.items.size(); });
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return solve_part(part.within, part.items); });
  }

  // Stretches of sections that items hold together.
  std::vector<Part> split(Span within, const Items& items) {
    std::vector<Part> parts;
    std::vector<std::size_t> part_of(within.last - within.first + 1);
    std::size_t begin = within.first;
    for (std::size_t s = within.first; s <= within.last; ++s) {
      part_of[s - within.first] = parts.size();
      if (sections_[s].crossing > 0) continue;
      if (sections_[s].rest > 0) parts.push_back({{begin, s}, {}});
      begin = s + 1;
    }
    for (const std::uint32_t item : items) {
      parts[part_of[span(item).first - within.first]].items.push_back(item);
    }
    return parts;
  }

  // Raises valleys that nothing need fill; only an item that is placed goes one call deeper, so
  // that the stack holds no more calls than there are items.
  bool solve_part(Span within, const Items& items) {
    std::vector<std::uint64_t> states;
    for (;;) {
      const std::uint64_t state = fingerprint(within, items);
      if (failures_.contains(state)) break;
      states.push_back(state);
      const Branch branch = choose(within, items);
      if (branch.options == 0) break;
      if (try_items(within, items, branch)) return true;
      if (!branch.may_raise || spent()) break;
      sections_[branch.section].floor = branch.raised;
      work_ += static_cast<std::int64_t>(items.size());
    }
    for (auto state = states.rbegin(); state != states.rend(); ++state) {
      if (!spent() && failures_.size() < kMostFailures) failures_.insert(*state);
    }
    return false;
  }

  // Leaves the sections as they were where it fails.
  bool try_items(Span within, const Items& items, const Branch& branch) {
    const std::vector<Section> before = saved(within);
    Items fitting;
    for (const std::uint32_t item : items) {
      const Span& where = span(item);
      if (where.first > branch.section || where.last < branch.section) continue;
      if (candidates_[where.first].valley != branch.valley) continue;
      if (candidates_[where.last].valley != branch.valley) continue;
      const bool known =
          !fitting.empty() && span(fitting.back()) == where && size(fitting.back()) == size(item);
      if (!known) fitting.push_back(item);
    }
    Items others;
    for (const std::uint32_t item : fitting) {
      if (spent()) return false;
      others.clear();
      std::copy_if(items.begin(), items.end(), std::back_inserter(others),
                   [&](std::uint32_t other) { return other != item; });
      place(item, branch.floor);
      if (solve(within, others)) return true;
      restore(within, before);
    }
    return false;
  }

  // The section with the fewest ways to go on; with none where some section has none.
  Branch choose(Span within, const Items& items) {
    const std::vector<Span> valleys = find_valleys(within);
    count_candidates(within, items);
    Branch best;
    for (const Span& valley : valleys) look_at(within, valley, best);
    return best;
  }

  std::vector<Span> find_valleys(Span within) {
    std::vector<Span> valleys;
    work_ += static_cast<std::int64_t>(within.last - within.first + 1);
    for (std::size_t begin = within.first; begin <= within.last;) {
      std::size_t end = begin;
      while (end < within.last && sections_[end + 1].floor == sections_[begin].floor) ++end;
      const bool low = bank(within, {begin, end}) > sections_[begin].floor;
      if (low) valleys.push_back({begin, end});
      for (std::size_t s = begin; s <= end; ++s) {
        candidates_[s] = {.valley = low ? valleys.size() : 0};
      }
      begin = end + 1;
    }
    return valleys;
  }

  // The lower of the floors on both sides. Nothing to come leaves the sections.
  [[nodiscard]] std::int64_t bank(Span within, Span valley) const {
    std::int64_t lower = INT64_MAX;
    if (valley.first > within.first) lower = std::min(lower, sections_[valley.first - 1].floor);
    if (valley.last < within.last) lower = std::min(lower, sections_[valley.last + 1].floor);
    return lower;
  }

  void count_candidates(Span within, const Items& items) {
    for (const std::uint32_t item : items) {
      const Span& where = span(item);
      const std::size_t valley = candidates_[where.first].valley;
      if (valley == 0 || valley != candidates_[where.last].valley) continue;
      for (std::size_t s = where.first; s <= where.last; ++s) {
        ++candidates_[s].count;
        candidates_[s].bytes += size(item);
      }
      work_ += static_cast<std::int64_t>(where.last - where.first + 1);
      if (where.last < within.last) note_least(candidates_[where.last + 1].least_before, item);
      if (where.first > within.first) note_least(candidates_[where.first - 1].least_behind, item);
    }
  }

  void note_least(std::int64_t& least, std::uint32_t item) const {
    least = std::min(least, size(item));
  }

  void look_at(Span within, Span valley, Branch& best) {
    for (std::size_t s = valley.first + 1; s <= valley.last; ++s) {
      std::int64_t& least = candidates_[s].least_before;
      least = std::min(least, candidates_[s - 1].least_before);
    }
    for (std::size_t s = valley.last; s-- > valley.first;) {
      std::int64_t& least = candidates_[s].least_behind;
      least = std::min(least, candidates_[s + 1].least_behind);
    }
    const std::int64_t banks = bank(within, valley);
    const std::int64_t floor = sections_[valley.first].floor;
    for (std::size_t s = valley.first; s <= valley.last; ++s) {
      if (sections_[s].rest == 0) continue;
      const Candidates& here = candidates_[s];
      const std::int64_t least = std::min(here.least_before, here.least_behind);
      const std::int64_t raised = std::min(banks, least == INT64_MAX ? least : floor + least);
      const bool may_raise = raised != INT64_MAX && raised - floor <= slack(s);
      const bool filled = banks == INT64_MAX || banks - floor - here.bytes <= slack(s);
      const std::int64_t options = filled ? here.count + (may_raise ? 1 : 0) : 0;
      if (options >= best.options) continue;
      best = {.section = s,
              .valley = here.valley,
              .floor = floor,
              .raised = raised,
              .may_raise = may_raise,
              .options = options};
    }
  }

  [[nodiscard]] std::uint64_t fingerprint(Span within, const Items& items) const {
    std::uint64_t sum = 0;
    for (const std::uint32_t item : items) sum += scrambled(item);
    for (std::size_t s = within.first; s <= within.last; ++s) {
      sum += scrambled((s + 1) * 0xD6E8FEB86659FD93U ^
                       scrambled(static_cast<std::uint64_t>(sections_[s].floor)));
    }
    return sum;
  }

  std::span<const Item> items_;
  std::vector<Span> spans_;  // by item
  std::int64_t capacity_;
  std::int64_t most_work_;
  std::int64_t work_ = 0;
  std::int64_t turn_ends_ = 0;  // work
  core::RandomStream random_;
  std::vector<Section> sections_;
  std::vector<Candidates> candidates_;          // by section
  std::vector<std::int64_t> offsets_;           // by item
  std::unordered_set<std::uint64_t> failures_;  // states that lead nowhere
};

}  // namespace

ExactAnswer pack_exactly(std::span<const Item> items, std::int64_t capacity, std::int64_t work) {
  LT_CHECK(!items.empty(), "something to pack");
  return ExactSearch(items, capacity, work).run();
}

}  // namespace lowtide::plan
