#include "plan/search/sweep.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "plan/bound/cut.h"
#include "plan/problem/gauge.h"
#include "plan/search/anneal.h"
#include "plan/search/descent.h"
#include "plan/search/recompute.h"
#include "plan/search/splice.h"

namespace lowtide::plan {

namespace {

class Sweeper {
 public:
  Sweeper(const Problem& problem, std::vector<Candidate> start)
      : problem_(problem),
        gauge_(problem),
        line_(problem),
        descent_(problem),
        found_(std::move(start)) {
    const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
    steps_ = kWorkOfSteps / (tasks + 1) / kLevels;
    moves_ = std::min<std::int64_t>(kWork / (tasks + kWorkOfAMove) / (3 * kLevels), 4000);
  }

  std::vector<Candidate> run() {
    const Candidate top = found_.front();
    const std::vector<TaskId> peak = crowded_steps(problem_, top.peak - 1, 1);
    if (peak.empty()) return std::move(found_);
    Cut cut(problem_, peak.front(), seconds_of_all_repetitions(problem_));
    if (!may_walk()) depths_ = depths(problem_, peak.front());
    now_ = top.choices;
    std::vector<Level> levels = descend(cut, top.peak);
    std::reverse(levels.begin(), levels.end());
    for (const Level& level : levels) {
      improve(Choices(fastest_within(level.limit)->choices), level, {});
    }
    return pareto(std::move(found_));
  }

 private:
  static constexpr double kRatio = 0.97;
  static constexpr double kNear = 0.001;  // of a step's seconds: as good as the bound
  static constexpr double kFar = 0.05;    // likewise: there is more to find
  static constexpr std::int64_t kLevels = 40;
  static constexpr std::int64_t kFewestMoves = 30;  // fewer change nothing: not worth a walk
  static constexpr std::int64_t kFarEffort = 8;     // where there is more to find
  static constexpr std::int64_t kLastEffort = 20;   // where nothing fits
  static constexpr std::int64_t kAgainEffort = 14;  // of the second way down
  static constexpr std::size_t kAgain = 6;          // limits that it begins above the last one
  static constexpr int kPatience = 2;  // failures before walks begin from what others found
  static constexpr double kWarm = 0.3;
  static constexpr double kHot = 0.6;
  static constexpr double kAim = 0.93;                // of the limit
  static constexpr std::int64_t kWorkOfAMove = 1000;  // beside that for each task
  static constexpr std::int64_t kWork = 24'000'000;
  static constexpr std::int64_t kWorkOfSteps = 2'000'000;  // straight down, for each task

  // A number of bytes, and the seconds that nothing within them can beat.
  struct Level {
    std::int64_t limit = 0;
    double bound = 0;
  };

  struct Walk {
    std::int64_t effort = 1;  // times the moves
    double heat = 0.1;        // as in AnnealSettings
  };

  // The limits below the peak that anything meets, and what meets them.
  std::vector<Level> descend(Cut& cut, std::int64_t peak) {
    std::vector<Level> levels;
    bool again = may_walk();
    for (auto limit = static_cast<double>(peak) * kRatio; limit > 1; limit *= kRatio) {
      const auto bytes = static_cast<std::int64_t>(limit);
      const Cut::Answer answer = cut.best(bytes);
      const Level level{bytes, problem_.fastest_seconds() + answer.value};
      const Choices relaxed = plan::relaxed(problem_, cut.at(), answer);
      if (!meet(level, relaxed)) {
        if (!std::exchange(again, false)) break;
        const std::size_t some = std::min(kAgain, levels.size());
        std::vector<Level> last(levels.end() - static_cast<std::ptrdiff_t>(some), levels.end());
        last.push_back(level);
        walk_again(cut, last);
        if (!meet(level, relaxed)) break;
      }
      levels.push_back(level);
    }
    return levels;
  }

  // One more way down: what walks at these limits find from the answer of the bound alone.
  void walk_again(Cut& cut, const std::vector<Level>& levels) {
    std::optional<Choices> last;
    for (const Level& level : levels) {
      const Choices start = last ? *last : relaxed(problem_, cut.at(), cut.best(level.limit));
      Candidate found = walk(start, level.limit, {kAgainEffort, kHot});
      if (found.peak > level.limit) continue;
      last = found.choices;
      found_.push_back(std::move(found));
    }
    if (last) now_ = *std::move(last);
  }

  // From the schedule of the limit above, and from the answer of the bound, straight down and then
  // by walks; with more moves where that leaves much to be found, and still more where nothing
  // fits. Returns whether anything that is known fits.
  bool meet(const Level& level, const Choices& answer) {
    add_relaxed(answer, level.limit);
    if (!may_walk() && far_from_bound(level)) add_spliced(level.limit);
    Choices above = now_;
    Choices bound = answer;
    bool fits = descend(above, level);
    fits = descend(bound, level) || fits;
    fits = improve(above, level, {}) || fits;
    fits = improve(bound, level, {}) || fits;
    if (may_walk() && (!fits || far_from_bound(level))) {
      // Each has its turn: time for one of them is better spent at the next limit.
      from_answer_ = !from_answer_;
      const Walk far{kFarEffort, kHot};
      fits = improve(from_answer_ ? answer : now_, level, far) || fits;
      fits = fits || improve(from_answer_ ? now_ : answer, level, far);
    }
    fits = fits || improve(now_, level, {kLastEffort, kWarm});
    fits = fits || improve(answer, level, {kLastEffort});
    failed_ = fits ? 0 : failed_ + 1;
    const Candidate* const best = fastest_within(level.limit);
    if (best == nullptr) return false;
    if (fits || failed_ > kPatience) now_ = best->choices;
    return true;
  }

  // Brings a schedule within the limit by the straight way, if there is one. Returns whether.
  bool descend(Choices& schedule, const Level& level) {
    if (!may_walk() || as_good_as_bound(level)) return false;
    const Timeline* const end = descent_.go(schedule, level.limit, steps_);
    if (end == nullptr) return false;
    found_.push_back(end->candidate());
    schedule = end->choices();
    return true;
  }

  // Whether the problem is small enough for walks.
  [[nodiscard]] bool may_walk() const { return moves_ >= kFewestMoves; }

  // Whether what is known leaves much to be found.
  [[nodiscard]] bool far_from_bound(const Level& level) const {
    const Candidate* const best = fastest_within(level.limit);
    return best != nullptr && best->seconds > level.bound + kFar * problem_.fastest_seconds();
  }

  // Whether the best that is known leaves next to nothing.
  [[nodiscard]] bool as_good_as_bound(const Level& level) const {
    const Candidate* const best = fastest_within(level.limit);
    return best != nullptr && best->seconds <= level.bound + kNear * problem_.fastest_seconds();
  }

  // Keeps what a walk from `start` ends in if it fits, and returns whether it does. What is as good
  // as the bound stays as it is.
  bool improve(const Choices& start, const Level& level, const Walk& how) {
    if (as_good_as_bound(level)) return true;
    const Candidate* const best = fastest_within(level.limit);
    if (moves_ * how.effort < kFewestMoves) return best != nullptr;
    // Where nothing fits yet, walks that aim lower get further.
    const double aim = best == nullptr ? kAim : 1;
    return add_if_it_fits(
        walk(start, static_cast<std::int64_t>(aim * static_cast<double>(level.limit)), how),
        level.limit);
  }

  Candidate walk(const Choices& start, std::int64_t limit, const Walk& how) {
    line_.assign(start);
    return anneal(
        line_, {.limit = limit, .moves = moves_ * how.effort, .seed = ++walks_, .heat = how.heat});
  }

  // The bound's answers let go of all that only some variants read, also where there is room.
  void add_relaxed(const Choices& choices, std::int64_t limit) {
    if (!gauge_.fits(choices, limit)) return;
    line_.assign(choices);
    take_fastest_variants(line_, limit);
    found_.push_back(line_.candidate());
  }

  // Between the two schedules that promise most: where the limit lies on the straight line from one
  // to the other.
  void add_spliced(std::int64_t limit) {
    double best = fastest_within(limit)->seconds;
    const Candidate* small = nullptr;
    const Candidate* fast = nullptr;
    for (const Candidate& within : found_) {
      if (within.peak > limit) continue;
      for (const Candidate& beyond : found_) {
        if (beyond.peak <= limit || beyond.seconds >= within.seconds) continue;
        const double part = static_cast<double>(limit - within.peak) /
                            static_cast<double>(beyond.peak - within.peak);
        const double seconds = within.seconds + part * (beyond.seconds - within.seconds);
        if (seconds >= best) continue;
        best = seconds;
        small = &within;
        fast = &beyond;
      }
    }
    if (small == nullptr) return;
    add_if_it_fits(splice(gauge_, depths_, small->choices, fast->choices, limit), limit);
  }

  bool add_if_it_fits(Candidate found, std::int64_t limit) {
    if (found.peak > limit) return false;
    // From there nothing is left of the straight way but to take back what is needless.
    if (may_walk()) found = descent_.go(found.choices, limit, 0)->candidate();
    found_.push_back(std::move(found));
    return true;
  }

  [[nodiscard]] const Candidate* fastest_within(std::int64_t limit) const {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : found_) {
      if (candidate.peak > limit) continue;
      if (best == nullptr || candidate.seconds < best->seconds) best = &candidate;
    }
    return best;
  }

  const Problem& problem_;
  Gauge gauge_;
  Timeline line_;  // what a walk walks on
  Descent descent_;
  std::vector<Candidate> found_;
  core::IdVector<TaskId, std::size_t> depths_;  // where there are splices
  std::int64_t moves_ = 0;                      // of a walk, times its effort
  std::int64_t steps_ = 0;                      // of a descent, at most
  std::uint64_t walks_ = 0;                     // so far: each has chances of its own
  bool from_answer_ = false;                    // where the last long walk began
  int failed_ = 0;                              // limits since the last that a walk met
  Choices now_;                                 // where walks down begin
};

}  // namespace

std::vector<Candidate> sweep(const Problem& problem, std::vector<Candidate> start) {
  return Sweeper(problem, std::move(start)).run();
}

}  // namespace lowtide::plan
