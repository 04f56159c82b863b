#include "plan/spill/spiller.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "core/check.h"
#include "plan/spill/range_max.h"

namespace lowtide::plan {

namespace {

// Transfers are begun earlier than the rates ask for, as steps and disks do not keep to the second.
constexpr double kEarly = 1.25;

}  // namespace

Spiller::Spiller(const Model& model,
                 const Schedule& schedule,
                 const FileOffsets& offsets,
                 const SpillTier& tier,
                 Victim victim)
    : model_(model),
      rates_(tier.rates),
      victim_(victim),
      schedule_(with_file_state(model, schedule, offsets)),
      gaps_(find_gaps(model, schedule_, offsets, tier.smallest)),
      steps_(static_cast<std::int32_t>(schedule_.sequence.size())) {
  for (const Execution& execution : schedule_.sequence) {
    seconds_.push_back(model.nodes[execution.node].seconds);
  }
  resident_ = profile(schedule_);
  most_ = *std::max_element(resident_.begin(), resident_.end());
  const std::vector<Bytes> all_out = profile_with(std::vector<char>(gaps_.all.size(), 1));
  least_ = *std::max_element(all_out.begin(), all_out.end());
  find_bounds();
}

// Whatever is beyond the limit at a step comes back behind it, and what the file does not have yet
// was stored before. The waits that this takes are linear in the limit.
void Spiller::find_bounds() {
  for (const Gap& gap : gaps_.all) {  // buffers are rounded up, transfers are not
    if (bytes(gap) == Bytes(0)) continue;
    const Bytes moved = model_.graph.type(gap.value).bytes();
    moved_share_ = std::min(
        moved_share_, static_cast<double>(moved.count()) / static_cast<double>(bytes(gap).count()));
  }
  const double whole = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  const bool all_new = std::none_of(gaps_.file_homes.begin(), gaps_.file_homes.end(),
                                    [](Bytes home) { return home != kInArena; });
  double before = 0;
  for (std::size_t step = 0; step < seconds_.size(); ++step) {
    const double moved = moved_share_ * static_cast<double>(resident_[step].count());
    fetch_wait_ = std::max(fetch_wait_, moved / rates_.fetch - (whole - before));
    if (all_new) store_wait_ = std::max(store_wait_, moved / rates_.store - before);
    before += seconds_[step];
  }
}

double Spiller::least_wait(Bytes limit) const {
  const double moved = moved_share_ * static_cast<double>(limit.count());
  return std::max({0.0, fetch_wait_ - moved / rates_.fetch, store_wait_ - moved / rates_.store});
}

// Required gaps lie outside the buffers' lives: only the others make a difference.
std::vector<Bytes> Spiller::profile_with(const std::vector<char>& chosen) const {
  std::vector<Bytes> change(resident_.size() + 1);
  for (std::size_t i = 0; i < gaps_.all.size(); ++i) {
    const Gap& gap = gaps_.all[i];
    if (chosen[i] == 0 || gap.required) continue;
    change[static_cast<std::size_t>(gap.after) + 1] -= bytes(gap);
    change[static_cast<std::size_t>(gap.before)] += bytes(gap);
  }
  std::vector<Bytes> result = resident_;
  Bytes sum;
  for (std::size_t i = 0; i < result.size(); ++i) {
    sum += change[i];
    result[i] += sum;
  }
  return result;
}

// Walks through the steps; where memory is short, sends away one victim after another.
void Spiller::choose(Bytes limit) {
  chosen_.assign(gaps_.all.size(), 0);
  std::vector<std::vector<std::int32_t>> begins(static_cast<std::size_t>(steps_) + 1);
  for (std::size_t i = 0; i < gaps_.all.size(); ++i) {
    chosen_[i] = gaps_.all[i].required ? 1 : 0;
    if (!gaps_.all[i].required) {
      begins[static_cast<std::size_t>(gaps_.all[i].after) + 1].push_back(
          static_cast<std::int32_t>(i));
    }
  }
  const auto sooner = [&](std::int32_t a, std::int32_t b) {
    const Gap& x = gaps_.all[static_cast<std::size_t>(a)];
    const Gap& y = gaps_.all[static_cast<std::size_t>(b)];
    if (victim_ == Victim::kUsedLongestAgo && x.after != y.after) return x.after > y.after;
    if (x.before != y.before) return x.before < y.before;
    return bytes(x) != bytes(y) ? bytes(x) < bytes(y) : a > b;
  };
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(sooner)> idle(sooner);
  std::vector<Bytes> back(static_cast<std::size_t>(steps_) + 1);
  Bytes away;
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps_); ++step) {
    away -= back[step];
    for (const std::int32_t i : begins[step]) idle.push(i);
    while (resident_[step] - away > limit) {
      LT_CHECK(!idle.empty(), "the limit is one that the schedule can meet");
      const std::int32_t i = idle.top();
      idle.pop();
      const Gap& gap = gaps_.all[static_cast<std::size_t>(i)];
      if (gap.before <= static_cast<std::int32_t>(step)) continue;  // used again by now
      chosen_[static_cast<std::size_t>(i)] = 1;
      away += bytes(gap);
      back[static_cast<std::size_t>(gap.before)] += bytes(gap);
    }
  }
}

// Later choices may have made earlier ones needless: the shortest gaps stay if they can.
void Spiller::keep_what_fits(Bytes limit) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < gaps_.all.size(); ++i) {
    if (chosen_[i] != 0 && !gaps_.all[i].required) order.push_back(static_cast<std::int32_t>(i));
  }
  const auto length = [&](std::int32_t i) {
    const Gap& gap = gaps_.all[static_cast<std::size_t>(i)];
    return gap.before - gap.after;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return length(a) < length(b); });
  RangeMax used(profile_with(chosen_));
  for (const std::int32_t i : order) {
    const Gap& gap = gaps_.all[static_cast<std::size_t>(i)];
    const auto first = static_cast<std::size_t>(gap.after) + 1;
    const auto last = static_cast<std::size_t>(gap.before);
    if (used.max(first, last) + bytes(gap) > limit) continue;
    used.add(first, last, bytes(gap));
    chosen_[static_cast<std::size_t>(i)] = 0;
  }
}

// A store only where the file does not have that version yet.
void Spiller::list_moves() {
  moves_.clear();
  std::int32_t buffer = -1;
  std::int32_t stored = 0;
  for (std::size_t i = 0; i < gaps_.all.size(); ++i) {
    const Gap& gap = gaps_.all[i];
    if (gap.buffer != buffer) {
      buffer = gap.buffer;
      stored = 0;
    }
    if (chosen_[i] == 0) continue;
    Move move{.gap = static_cast<std::int32_t>(i), .store_start = gap.after + 1};
    if (gap.version != stored) move.store_finish = move.store_start;
    if (gap.fetches(steps_)) move.fetch_start = gap.before;
    if (move.stores() || move.fetches()) moves_.push_back(move);
    stored = gap.version;
  }
  std::stable_sort(moves_.begin(), moves_.end(),
                   [&](const Move& a, const Move& b) { return gap(a).after < gap(b).after; });
}

// Stores go one after another from the step behind the last use. A buffer stays until its store is
// through, or until its bytes are needed: then the step waits.
void Spiller::time_stores(Bytes limit) {
  usage_ = profile_with(chosen_);
  begins_.assign(static_cast<std::size_t>(steps_) + 1, 0);
  struct Underway {
    Move* move = nullptr;
    double end = 0;
  };
  std::deque<Underway> queue;
  Bytes held;
  double now = 0;
  double free = 0;
  std::size_t next = 0;
  for (std::int32_t step = 0; step <= steps_; ++step) {
    for (; next < moves_.size() && gap(moves_[next]).after + 1 <= step; ++next) {
      if (!moves_[next].stores()) continue;
      free = std::max(free, now) +
             static_cast<double>(bytes(gap(moves_[next])).count()) / rates_.store;
      queue.push_back({&moves_[next], free});
      held += bytes(gap(moves_[next]));
    }
    const auto needed = [&](const Underway& store) {
      return store.end <= now || step == steps_ ||
             usage_[static_cast<std::size_t>(step)] + held > limit;
    };
    // The queue is in order: whoever waits for one waits for those before it.
    const auto due = std::find_if(queue.rbegin(), queue.rend(), [&](const Underway& store) {
      return gap(*store.move).before <= step;
    });
    std::ptrdiff_t forced = queue.rend() - due;
    while (!queue.empty() && (forced-- > 0 || needed(queue.front()))) {
      now = std::max(now, queue.front().end);
      queue.front().move->store_finish = step;
      held -= bytes(gap(*queue.front().move));
      queue.pop_front();
    }
    begins_[static_cast<std::size_t>(step)] = now;
    if (step == steps_) break;
    usage_[static_cast<std::size_t>(step)] += held;
    now += seconds_[static_cast<std::size_t>(step)];
  }
}

// Each fetch begins so early that it and those before it in the queue are through in time, as far
// as memory permits.
void Spiller::time_fetches(Bytes limit) {
  std::vector<Move*> fetches;
  for (Move& move : moves_) {
    if (move.fetches()) fetches.push_back(&move);
  }
  std::stable_sort(fetches.begin(), fetches.end(),
                   [&](const Move* a, const Move* b) { return gap(*a).before < gap(*b).before; });
  std::vector<double> wanted(fetches.size());
  double next = std::numeric_limits<double>::infinity();
  for (std::size_t i = fetches.size(); i-- > 0;) {
    const Gap& out = gap(*fetches[i]);
    next = std::min(next, begins_[static_cast<std::size_t>(out.before)]) -
           kEarly * static_cast<double>(bytes(out).count()) / rates_.fetch;
    wanted[i] = next;
  }
  std::int32_t earliest = 0;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    Move& move = *fetches[i];
    const Gap& out = gap(move);
    const Bytes size = bytes(out);
    const std::int32_t bound =
        std::max({earliest, out.after + 1, move.stores() ? move.store_finish : 0});
    std::int32_t start = out.before;
    while (start > bound && begins_[static_cast<std::size_t>(start)] > wanted[i] &&
           usage_[static_cast<std::size_t>(start) - 1] + size <= limit) {
      --start;
      usage_[static_cast<std::size_t>(start)] += size;
    }
    move.fetch_start = start;
    earliest = start;
  }
}

void Spiller::time_without_overlap() { usage_ = profile_with(chosen_); }

std::vector<ScheduledTransfer> Spiller::transfers() const {
  std::vector<ScheduledTransfer> result;
  for (const Move& move : moves_) {
    if (!move.stores()) continue;
    const Gap& out = gap(move);
    result.push_back(
        {Direction::kStore, out.value, out.buffer, move.gap, move.store_start, move.store_finish});
  }
  std::vector<ScheduledTransfer> fetches;
  for (const Move& move : moves_) {
    if (!move.fetches()) continue;
    const Gap& out = gap(move);
    fetches.push_back(
        {Direction::kFetch, out.value, out.buffer, move.gap, move.fetch_start, out.before});
  }
  std::stable_sort(fetches.begin(), fetches.end(),
                   [](const auto& a, const auto& b) { return a.finish < b.finish; });
  result.insert(result.end(), fetches.begin(), fetches.end());
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return result;
}

// Seconds that steps wait, by the rules of plan::Transfer.
double Spiller::simulate(const std::vector<ScheduledTransfer>& transfers) const {
  std::vector<std::vector<std::size_t>> finishing(static_cast<std::size_t>(steps_) + 1);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    finishing[static_cast<std::size_t>(transfers[i].finish)].push_back(i);
  }
  std::vector<double> ends(transfers.size(), 0);
  std::array<double, 2> free = {0, 0};
  double now = 0;
  double waited = 0;
  const auto wait = [&](std::size_t i) {
    waited += std::max(ends[i] - now, 0.0);
    now = std::max(now, ends[i]);
  };
  std::size_t next = 0;
  for (std::int32_t step = 0; step <= steps_; ++step) {
    for (const std::size_t i : finishing[static_cast<std::size_t>(step)]) {
      if (transfers[i].start < step) wait(i);
    }
    std::size_t last = next;
    while (last < transfers.size() && transfers[last].start == step) ++last;
    for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
      const bool store = direction == Direction::kStore;
      double& queue = free[store ? 0 : 1];
      for (std::size_t i = next; i < last; ++i) {
        if (transfers[i].direction != direction) continue;
        const Bytes size = model_.graph.type(transfers[i].value).bytes();
        queue = std::max(queue, now) +
                static_cast<double>(size.count()) / (store ? rates_.store : rates_.fetch);
        ends[i] = queue;
      }
      for (std::size_t i = next; i < last; ++i) {
        if (transfers[i].direction == direction && transfers[i].finish == step) wait(i);
      }
    }
    next = last;
    if (step < steps_) now += seconds_[static_cast<std::size_t>(step)];
  }
  return waited;
}

Spiller::Result Spiller::fit(Bytes limit, Overlap overlap) {
  LT_CHECK(limit >= least_, "the limit is one that the schedule can meet");
  choose(limit);
  keep_what_fits(limit);
  list_moves();
  if (overlap == Overlap::kFull) {
    time_stores(limit);
    time_fetches(limit);
  } else {
    time_without_overlap();
  }
  double total = simulate(transfers());
  for (const double step : seconds_) total += step;
  return {total, *std::max_element(usage_.begin(), usage_.end())};
}

}  // namespace lowtide::plan
